"use strict"; // one message of the chat; page.js has the rest

const at = (id) => document.getElementById(id);
const TAGS = new Set(["P", "BR", "STRONG", "EM", "S", "CODE", "PRE", "BLOCKQUOTE", "UL", "OL", "LI", "HR", "H1", "H2",
  "H3", "H4", "H5", "H6", "TABLE", "THEAD", "TBODY", "TR", "TH", "TD", "A"]);
const ALIGNED = new Set(["left", "center", "right"]);

/** Copy the harmless parts of *html*: known tags, no attribute but a link's address. */
function harmless(html) {
  const copy = (from, to) => {
    for (const node of from.childNodes) {
      if (node.nodeType === Node.TEXT_NODE) {
        to.append(node.data);
      } else if (node.nodeType === Node.ELEMENT_NODE) {
        const made = TAGS.has(node.tagName) ? document.createElement(node.tagName) : document.createDocumentFragment();
        if (node.tagName === "A" && /^(https?:|mailto:)/i.test(node.getAttribute("href") || "")) {
          made.href = node.getAttribute("href");
          made.target = "_blank";
          made.rel = "noopener noreferrer";
        }
        if (/^T[HD]$/.test(node.tagName) && ALIGNED.has(node.className)) made.className = node.className;
        copy(node, made);
        to.append(made);
      }
    }
  };
  const safe = document.createDocumentFragment();
  copy(new DOMParser().parseFromString(html, "text/html").body, safe);
  return safe;
}

function show(message) {
  const article = document.createElement("article");
  article.className = message.kind;
  article.ariaLabel = message.kind === "said" ? "You" : agent;
  article.key = `${message.kind} ${message.turn}`;
  article.append(message.html === undefined ? message.text : harmless(message.html));
  const when = new Date(message.at);
  const time = document.createElement("time");
  time.dateTime = message.at;
  const isToday = when.toDateString() === new Date().toDateString();
  const clock = { hour: "2-digit", minute: "2-digit" };
  time.textContent = when.toLocaleString([], isToday ? clock : { ...clock, day: "numeric", month: "short" });
  if (message.receipt) {
    const receipt = document.createElement("div");
    receipt.className = "receipt";
    receipt.append(harmless(message.receipt));
    article.append(receipt);
  }
  if (message.files?.length) article.append(...message.files.map(enclosed));
  if (message.buttons?.length) article.append(choices(message.buttons));
  if (message.waits) {
    article.classList.add("waits");
    time.prepend("waiting for an answer · ");
  }
  const foot = document.createElement("footer");
  foot.append(time);
  if (message.html !== undefined) foot.append(copier(message.text));
  if (message.html !== undefined && !message.turn.startsWith("notice:")) foot.append(anchor("Why?", `why?turn=${encodeURIComponent(message.turn)}`));
  if (message.sources?.length) foot.append(sources(message.sources));
  article.append(foot);
  at("talk").append(article);
  for (const wide of article.querySelectorAll("table, pre")) if (wide.scrollWidth > wide.clientWidth) wide.tabIndex = 0; // for arrow keys
  return article;
}

/** Create a button that copies *text*. */
function copier(text) {
  const button = quiet("Copy", async () => {
    button.textContent = await copy(text) ? "Copied" : "Not copied";
    button.focus();
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  });
  return button;
}

/** Copy *text*; return whether it worked. Without TLS, at another machine's address, a browser has no clipboard API. */
async function copy(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text).then(() => true, () => false);
  const field = document.createElement("textarea");
  field.value = text;
  document.body.append(field);
  field.select();
  const isCopied = document.execCommand("copy");
  field.remove();
  return isCopied;
}

/** Create a line that names the memories that an answer had in view. */
function sources(citations) {
  const line = document.createElement("details");
  const summary = document.createElement("summary");
  summary.textContent = citations.length === 1 ? "1 memory used" : `${citations.length} memories used`;
  const list = document.createElement("ul");
  list.append(...citations.map((citation) => {
    const item = document.createElement("li");
    item.append(anchor(citation, `line?cite=${encodeURIComponent(citation)}`));
    return item;
  }));
  line.append(summary, list);
  return line;
}

/** Create a link to a view of the agent. */
function anchor(label, path, section = "memory") {
  const link = document.createElement("a");
  link.textContent = label;
  link.href = `/agents/${encodeURIComponent(agent)}/${section}/${path}`;
  return link;
}

/** Create a line for a file of an answer, in a tab of its own. */
function enclosed({ name, path, size, caption }) {
  const line = document.createElement("div");
  line.className = "enclosed";
  const link = anchor(name, `file?path=${encodeURIComponent(path)}`, "work");
  link.target = "_blank";
  line.append(harmless(caption), link, ` ${Math.ceil(size / 1000).toLocaleString()} kB`);
  return line;
}

/** Create a link to the whole conversation, of which the chat shows the end. */
function earlier() {
  const link = anchor("Earlier messages", "conversation?session=main&most=400", "work");
  link.className = "earlier";
  return link;
}

function quiet(label, act) {
  const button = document.createElement("button");
  button.className = "quiet";
  button.textContent = label;
  button.addEventListener("click", act);
  return button;
}

/** Create a row of *buttons*: pressing one sends its command and disables them all. */
function choices(buttons) {
  const row = document.createElement("div");
  row.className = "choices";
  row.append(...buttons.map(({ label, command }) => {
    const button = document.createElement("button");
    button.textContent = label;
    button.addEventListener("click", async () => {
      for (const each of row.children) each.disabled = true;
      at("state").textContent = await post("/chat/messages", { agent, text: command, id: newId() });
      if (at("state").textContent) for (const each of row.children) each.disabled = false;
    });
    return button;
  }));
  return row;
}
