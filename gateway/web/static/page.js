"use strict";

const PHOTO_BYTES = 400_000;
const PHOTO_SIDE = 1600;
const SIGN_MS = 6000; // the gateway renews it every four seconds
const touch = matchMedia("(pointer: coarse)"); // Enter then makes a new line: an on-screen keyboard has no Shift+Enter
let csrf = "";
let agent = "";
let shown = ""; // the agent whose conversation is on the page
let unseen = 0;
let followsEnd = true; // the reader is at the end of the conversation
let unread = []; // agents whose answers wait for their page
let events = null;
let fromHistory = new Set();
let unsent = { text: "", id: "" };
let commands = [];
let files = []; // to be sent with the next message

// --- the draft, and the place of reading

/** Remove the draft of an answer; return whether there was one. */
function dropDraft() {
  const draft = at("talk").querySelector(".draft");
  draft?.remove();
  at("stop").hidden = true;
  return draft !== null;
}

/** Show *html* as the draft of an answer; if empty, a sign that it is being written. */
function drafted(html) {
  const reads = isAtTheEnd();
  let draft = at("talk").querySelector(".draft");
  if (!draft) {
    draft = document.createElement("article");
    draft.className = "draft";
    draft.ariaLive = "off"; // a screen reader would begin anew at every word; it reads the whole answer
    at("talk").append(draft);
  }
  draft.replaceChildren(harmless(html));
  at("stop").hidden = false;
  if (reads) toTheEnd();
  return draft;
}

function isAtTheEnd() {
  const talk = at("talk");
  return talk.scrollHeight - talk.scrollTop - talk.clientHeight < 80;
}

function toTheEnd() {
  at("talk").scrollTop = at("talk").scrollHeight;
}

/** Return the message at the upper edge of the view, and where it begins; `null` at the end. */
function placeOfReading() {
  if (isAtTheEnd()) return null;
  const top = at("talk").getBoundingClientRect().top;
  const article = [...at("talk").children].find((each) => each.getBoundingClientRect().bottom > top);
  return { key: article.key, top: article.getBoundingClientRect().top };
}

/** Return to a *place* of reading, or to the end if it is `null` or no longer shown. */
function readOn(place) {
  const article = place && [...at("talk").children].find((each) => each.key === place.key);
  if (article) at("talk").scrollTop += article.getBoundingClientRect().top - place.top;
  else toTheEnd();
}

/** Name the agent in the title, and count the messages that came while nobody looked, and the agents with unread ones. */
function entitle() {
  const count = unseen + unread.length;
  document.title = `${count ? `(${count}) ` : ""}${agent} · Strandline`;
}

/** Mark the agents that have *unread* messages. */
function mark(agents) {
  unread = agents;
  for (const button of at("agents").children) {
    const isMarked = agents.includes(button.value);
    button.classList.toggle("unread", isMarked);
    button.ariaLabel = isMarked ? `${button.value}, unread messages` : null;
  }
  entitle();
}

/** Show a new message; a reader at the end stays there, and starts a whole answer at its beginning. */
function add(message) {
  const reads = isAtTheEnd();
  at("talk").ariaLive = "polite";
  if (document.hidden && message.kind === "answer") unseen += 1;
  entitle();
  const wasRead = dropDraft();
  if (message.kind === "answer") for (const each of at("talk").querySelectorAll(".waits")) answered(each);
  const article = show(message);
  at("newest").hidden = reads;
  if (!reads) return;
  if (!wasRead && article.offsetHeight > at("talk").clientHeight) article.scrollIntoView({ block: "start" });
  else toTheEnd();
}

/** Show a message that waited as one that was answered. */
function answered(article) {
  article.classList.remove("waits");
  article.querySelector("time").firstChild.remove();
}

// --- the stream of events; the browser connects again by itself, and names the last event that it has

function listen() {
  events?.close();
  events = new EventSource(`/chat/events?agent=${encodeURIComponent(agent)}`);
  events.onopen = () => { at("state").textContent = ""; mark([]); };
  events.addEventListener("unread", (event) => mark(JSON.parse(event.data).agents));
  events.onerror = async () => {
    at("state").textContent = "connecting…";
    if (events.readyState === EventSource.CLOSED) setTimeout(enter, 2000);
  };
  events.addEventListener("history", (event) => {
    const { messages, has_earlier } = JSON.parse(event.data);
    const [place, before] = [placeOfReading(), new Set([...at("talk").children].map((each) => each.key))];
    at("talk").replaceChildren();
    at("talk").ariaLive = "off"; // only new messages are read out
    at("stop").hidden = true;
    fromHistory = new Set(messages.map((each) => `${each.kind} ${each.turn}`));
    if (has_earlier) at("talk").append(earlier());
    messages.forEach(show);
    const isNew = ({ kind, turn }) => kind === "answer" && !before.has(`answer ${turn}`);
    if (document.hidden && before.size) unseen += messages.filter(isNew).length; // the gateway was started anew
    entitle();
    readOn(place);
  });
  for (const kind of ["said", "answer"]) {
    events.addEventListener(kind, (event) => {
      const message = JSON.parse(event.data);
      if (fromHistory.has(`${kind} ${message.turn}`)) dropDraft();
      else add(message);
    });
  }
  events.addEventListener("draft", (event) => drafted(JSON.parse(event.data).html));
  events.addEventListener("tool", (event) => {
    const { name } = JSON.parse(event.data);
    if (!name.startsWith("/")) (at("talk").querySelector(".draft") || drafted("")).dataset.tool = name;
  });
  events.addEventListener("writing", () => {
    const fades = at("talk").querySelector(".draft") || drafted("");
    setTimeout(() => { if (fades.signs-- === 1 && !fades.textContent) fades.remove(); }, SIGN_MS);
    fades.signs = (fades.signs || 0) + 1;
  });
}

function choose(name) {
  agent = name;
  sessionStorage.setItem("agent", name); // of this tab: a reload, or a way through the memory, leads back to it
  at("who").textContent = name;
  entitle();
  for (const link of document.querySelectorAll(".sections a")) {
    link.href = link.getAttribute("href").replace(/^(\/agents\/[^/]+)?\/(memory|history|work)$/, `/agents/${encodeURIComponent(name)}/$2`);
  }
  for (const button of at("agents").children) {
    if (button.value === name) button.setAttribute("aria-current", "true");
    else button.removeAttribute("aria-current");
  }
  if (name !== shown) {
    at("talk").replaceChildren();
    at("text").value = sessionStorage.getItem(`unsent to ${name}`) || "";
    fit();
    offer();
    attach([]); // they were meant for the other agent
  }
  shown = name;
  listen();
  if (!touch.matches) at("text").focus(); // it would open the keyboard over the conversation
}

// --- signing in and out

async function enter() {
  const response = await fetch("/chat/me").catch(() => null);
  if (response === null || (!response.ok && response.status !== 401)) { setTimeout(enter, 2000); return; } // it starts
  if (!response.ok) {
    if (!at("house").hidden) at("refusal").textContent = "This browser is no longer signed in. Your unsent text is kept.";
    at("entrance").hidden = false;
    at("house").hidden = true;
    events?.close();
    at("code").focus();
    return;
  }
  const me = await response.json();
  csrf = me.csrf;
  at("version").textContent = me.version;
  at("agents").replaceChildren(...me.agents.map((name) => {
    const button = document.createElement("button");
    button.textContent = button.value = name;
    button.addEventListener("click", () => choose(name));
    return button;
  }));
  at("entrance").hidden = true;
  at("house").hidden = false;
  choose(me.agents.includes(agent) ? agent : me.agents[0]); // at once: a message needs its agent
  commands = await fetch("/chat/commands").then((found) => found.json()).catch(() => []);
}

async function post(path, body) {
  const headers = { "content-type": "application/json", "x-csrf-token": csrf };
  const response = await fetch(path, { method: "POST", headers, body: JSON.stringify(body) }).catch(() => null);
  if (response?.ok) return "";
  if (response?.status === 401 && path !== "/sign-in") enter();
  const refusal = await response?.json().catch(() => null); // a proxy before the gateway answers with a page of its own
  return refusal?.error?.message ?? "The gateway did not answer; try again.";
}

at("sign-in").addEventListener("submit", async (event) => {
  event.preventDefault();
  at("refusal").textContent = await post("/sign-in", { code: at("code").value });
  at("code").value = "";
  if (!at("refusal").textContent) enter();
});

/** Ask before what a finger that slips would do; a mouse is exact. */
function isMeant(question) {
  return !touch.matches || confirm(question);
}

at("sign-out").addEventListener("click", async () => {
  if (!isMeant("Sign out? To sign in again you need a new code.")) return;
  await post("/sign-out", {});
  sessionStorage.clear();
  at("text").value = shown = agent = "";
  at("talk").replaceChildren();
  at("house").hidden = true;
  attach([]);
  enter();
});

// --- sending

function newId() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function fit() {
  const text = at("text");
  text.style.height = "auto";
  text.style.height = `${text.scrollHeight + 2}px`;
}

/** Take *chosen* for the files of the next message, and show them; pressing one leaves it out. */
function attach(chosen) {
  files = chosen;
  unsent = { text: "", id: "" }; // with other files it is another message
  at("files").replaceChildren(...files.map((file) => {
    const button = quiet(`${file.name} ✕`, () => {
      attach(files.filter((each) => each !== file));
      at("text").focus();
    });
    button.ariaLabel = `Leave out ${file.name}`;
    return button;
  }));
  at("files").hidden = files.length === 0;
}

/** Return *file* as the gateway takes it; a large photo becomes as small as a model sees it. */
async function encoded(file) {
  const content = /^image\/(jpeg|png|webp)$/.test(file.type) && file.size > PHOTO_BYTES ? await shrunk(file) : file;
  const url = await new Promise((resolve) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result);
    reader.readAsDataURL(content);
  });
  return { name: file.name, mime: content.type, base64: url.slice(url.indexOf(",") + 1) };
}

/** Return a photo with `PHOTO_SIDE` pixels at most on each side; as it is if the browser cannot read it. */
async function shrunk(file) {
  const picture = await createImageBitmap(file).catch(() => null);
  if (picture === null) return file;
  const scale = Math.min(1, PHOTO_SIDE / Math.max(picture.width, picture.height));
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [picture.width * scale, picture.height * scale];
  canvas.getContext("2d").drawImage(picture, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve) => canvas.toBlob((blob) => resolve(blob || file), "image/jpeg", 0.85));
}

/** Keep the text in this tab, for its way back from another view or agent, until it is sent or the owner signs out. */
function keepUnsent() {
  sessionStorage.setItem(`unsent to ${agent}`, at("text").value);
}

/** Show the commands that the text may become. */
function offer() {
  const text = at("text").value;
  const fitting = /^\/\w*$/.test(text) ? commands.filter(({ name }) => `/${name}`.startsWith(text)) : [];
  at("menu").replaceChildren(...fitting.map(({ name, usage, help }) => {
    const button = quiet("", () => {
      at("text").value = `/${name}${usage ? " " : ""}`;
      at("menu").hidden = true;
      at("text").focus();
    });
    const word = document.createElement("b");
    word.textContent = `/${name} ${usage}`.trim();
    button.append(word, ` ${help}`);
    return button;
  }));
  at("menu").hidden = fitting.length === 0;
}

async function order(command) {
  at("state").textContent = await post("/chat/messages", { agent, text: command, id: newId() });
}

document.addEventListener("visibilitychange", () => { if (!document.hidden) unseen = 0; entitle(); });
at("newest").addEventListener("click", toTheEnd);
at("talk").addEventListener("scroll", () => { if (followsEnd = isAtTheEnd()) at("newest").hidden = true; });
new ResizeObserver(() => { if (followsEnd) toTheEnd(); }).observe(at("talk")); // the text grows, or a keyboard opens
at("attach").addEventListener("click", () => at("chosen").click());
at("chosen").addEventListener("change", () => {
  attach([...files, ...at("chosen").files]);
  at("chosen").value = "";
});
at("text").addEventListener("paste", (event) => {
  if (!event.clipboardData.files.length) return;
  event.preventDefault();
  attach([...files, ...event.clipboardData.files]);
});
at("stop").addEventListener("click", () => order("/stop"));
at("new").addEventListener("click", () => {
  if (isMeant("End this conversation? What you told it stays in memory.")) order("/new");
});

at("say").addEventListener("submit", async (event) => {
  event.preventDefault();
  const text = at("text").value;
  if (!text.trim() && !files.length) return;
  toTheEnd();
  const button = at("say").querySelector("button:last-child");
  button.disabled = true;
  if (text !== unsent.text) unsent = { text, id: newId() }; // a message that may have arrived is sent again under its own id
  const [to, sent] = [agent, files];
  const trouble = await post("/chat/messages", { agent: to, text, id: unsent.id, files: await Promise.all(sent.map(encoded)) });
  button.disabled = false;
  at("state").textContent = trouble;
  if (!trouble) { // what was typed and chosen meanwhile stays
    attach(files.filter((each) => !sent.includes(each)));
    if (sessionStorage.getItem(`unsent to ${to}`) === text) sessionStorage.removeItem(`unsent to ${to}`);
    if (agent === to && at("text").value === text) at("text").value = "";
    if (unsent.text === text) unsent = { text: "", id: "" };
  }
  fit();
  offer();
  at("text").focus();
});

at("text").addEventListener("input", () => { fit(); offer(); keepUnsent(); });
at("text").addEventListener("keydown", (event) => {
  if (event.key === "Escape") at("menu").hidden = true;
  if (event.key === "ArrowDown" && !at("menu").hidden) {
    event.preventDefault();
    at("menu").firstChild.focus();
  }
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing && !touch.matches) {
    event.preventDefault();
    at("say").requestSubmit();
  }
});

at("menu").addEventListener("keydown", (event) => {
  const neighbour = { ArrowDown: "nextSibling", ArrowUp: "previousSibling" }[event.key];
  if (event.key === "Escape") at("menu").hidden = true;
  else if (!neighbour) return;
  event.preventDefault();
  (document.activeElement[neighbour] || at("text")).focus();
});

/** Open the chat with the agent that the address names, or this tab's latest.
 *
 * The code of a one-time link stands behind "#": no request holds it, and it leaves the address. */
async function begin() {
  const code = /^#([A-Z2-9]{5}-[A-Z2-9]{5})$/.exec(location.hash)?.[1];
  agent = new URLSearchParams(location.search).get("agent") || sessionStorage.getItem("agent") || "";
  if (location.hash || location.search) history.replaceState(null, "", location.pathname);
  await enter();
  if (!code || at("entrance").hidden) return;
  at("code").value = code;
  at("sign-in").requestSubmit();
}

begin();
