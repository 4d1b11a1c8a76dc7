BEGIN TRANSACTION;
CREATE TABLE changes (
        id INTEGER PRIMARY KEY AUTOINCREMENT, proposal TEXT NOT NULL, created_at TEXT NOT NULL,
        expires_at TEXT NOT NULL, state TEXT NOT NULL, changed_at TEXT NOT NULL) STRICT;
CREATE TABLE guests (
        channel TEXT NOT NULL, account TEXT NOT NULL, person TEXT NOT NULL, name TEXT NOT NULL, since TEXT NOT NULL,
        PRIMARY KEY (channel, account, person)) STRICT, WITHOUT ROWID;
INSERT INTO "guests" VALUES('telegram','home','99','Person 99','2026-11-23T08:58:18.105030+00:00');
CREATE TABLE heard (
        id INTEGER PRIMARY KEY AUTOINCREMENT, place TEXT NOT NULL, message TEXT NOT NULL, heard TEXT NOT NULL,
        at TEXT NOT NULL, UNIQUE (place, message)) STRICT;
CREATE TABLE inbox (
        id INTEGER PRIMARY KEY AUTOINCREMENT, message TEXT NOT NULL, received_at TEXT NOT NULL) STRICT;
CREATE TABLE jobs (
        id INTEGER PRIMARY KEY AUTOINCREMENT, agent TEXT NOT NULL, key TEXT UNIQUE, errand TEXT NOT NULL,
        is_enabled INTEGER NOT NULL DEFAULT 1, next_slot TEXT, last_slot TEXT, failures INTEGER NOT NULL DEFAULT 0)
        STRICT;
INSERT INTO "jobs" VALUES(1,'main',NULL,'{"v":1,"body":{"agent":"main","schedule":"every monday at 9:00","zone":"Europe/Berlin","prompt":"Water the ferns.","begun_at":"2026-11-23T09:19:18.987135Z","in_main":false,"private":false,"made_by":"you"}}',1,'2026-11-30T08:00:00.000000+00:00',NULL,0);
CREATE TABLE kv (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
INSERT INTO "kv" VALUES('heartbeat:main','{"looked":"2026-11-24T08:37:20.059022Z","watched":{},"slot":"","prompt":"","before":null,"ran":null,"outcome":"","failures":0,"is_off":false,"booted":null}');
INSERT INTO "kv" VALUES('menu:telegram.home','efd8a44be046f36f7f16d8d270ee3dde');
INSERT INTO "kv" VALUES('owner_chats','[["main", "telegram:7", "telegram", "home", "7", null]]');
INSERT INTO "kv" VALUES('pairing_chats:telegram.home','{"99": "99"}');
INSERT INTO "kv" VALUES('session:main/group:telegram.home.-100','2026-11-23T09:12:18Z');
INSERT INTO "kv" VALUES('session:main/guest:telegram.home.99','2026-11-23T09:05:18Z');
INSERT INTO "kv" VALUES('session:main/main','2026-11-24T08:44:24Z');
CREATE TABLE ledger (reason TEXT PRIMARY KEY, amount INTEGER NOT NULL) STRICT, WITHOUT ROWID;
INSERT INTO "ledger" VALUES('pairing_told',1);
INSERT INTO "ledger" VALUES('refused.unpaired',1);
CREATE TABLE notices (key TEXT PRIMARY KEY, at TEXT NOT NULL) STRICT, WITHOUT ROWID;
INSERT INTO "notices" VALUES('let_in:home:telegram:99:2026-11-23T08:58:18.115748+00:00','2026-11-23T08:58:18.116385+00:00');
INSERT INTO "notices" VALUES('pairing:telegram:99:home:2026-11-23T08:51:17.949161+00:00','2026-11-23T08:51:17.965437+00:00');
CREATE TABLE outbox (
        id INTEGER PRIMARY KEY AUTOINCREMENT, turn_id TEXT NOT NULL, outgoing TEXT NOT NULL, created_at TEXT NOT NULL,
        state TEXT NOT NULL, parts_sent INTEGER NOT NULL DEFAULT 0, attempts INTEGER NOT NULL DEFAULT 0,
        not_before TEXT, begun_at TEXT, why TEXT, changed_at TEXT NOT NULL) STRICT;
INSERT INTO "outbox" VALUES(1,'t1795423030656','{"v":1,"body":{"address":{"channel":"telegram","account":"home","chat":"7","thread":null},"text":"Done: Noted in memory/2026-11-23.md#L3.\n\n— ✓ noted 1 line","reply_to":null,"files":[],"buttons":[{"label":"Undo","command":"/undo f707652a5607"},{"label":"Correct","command":"/correct f707652a5607"}]}}','2026-11-23T08:37:17.684845+00:00','sent',1,0,NULL,'2026-11-23T08:37:17.689442+00:00',NULL,'2026-11-23T08:44:17.707972+00:00');
INSERT INTO "outbox" VALUES(2,'t1795423457724','{"v":1,"body":{"address":{"channel":"telegram","account":"home","chat":"7","thread":null},"text":"Done: Saved in MEMORY.md#L15.\n\n— ✓ noted 1 line","reply_to":null,"files":[],"buttons":[{"label":"Undo","command":"/undo 39d84cc1dac8"},{"label":"Correct","command":"/correct 39d84cc1dac8"}]}}','2026-11-23T08:44:17.936591+00:00','sent',1,0,NULL,'2026-11-23T08:44:17.939379+00:00',NULL,'2026-11-23T08:51:17.947686+00:00');
INSERT INTO "outbox" VALUES(3,'notice:pair:5HW5ZGVLH5','{"v":1,"body":{"address":{"channel":"telegram","account":"home","chat":"99","thread":null},"text":"Hello! I only talk with people who have been approved. If you know who runs this bot, give them this code:\n\n`5HW5Z-GVLH5`\n\nIt is valid for one hour.","reply_to":null,"files":[],"buttons":[]}}','2026-11-23T08:51:17.949506+00:00','sent',1,0,NULL,'2026-11-23T08:51:17.950775+00:00',NULL,'2026-11-23T08:51:17.989602+00:00');
INSERT INTO "outbox" VALUES(4,'notice:pairing:telegram:99:home:2026-11-23T08:51:17.949161+00:00','{"v":1,"body":{"address":{"channel":"telegram","account":"home","chat":"7","thread":null},"text":"`Person 99 (telegram:99)` asks to be let in at telegram.home. Their code is `5HW5Z-GVLH5`, valid for one hour. People choose their own names: approve only somebody who gave you this code.","reply_to":null,"files":[],"buttons":[{"label":"Approve","command":"/pair approve 5HW5Z-GVLH5"},{"label":"Refuse","command":"/pair refuse 5HW5Z-GVLH5"}]}}','2026-11-23T08:51:17.965437+00:00','sent',1,0,NULL,'2026-11-23T08:51:17.989918+00:00',NULL,'2026-11-23T08:58:18.019036+00:00');
INSERT INTO "outbox" VALUES(5,'notice:let_in:home:telegram:99:2026-11-23T08:58:18.115748+00:00','{"v":1,"body":{"address":{"channel":"telegram","account":"home","chat":"99","thread":null},"text":"You have been approved: from now on I answer your messages here.","reply_to":null,"files":[],"buttons":[]}}','2026-11-23T08:58:18.116385+00:00','sent',1,0,NULL,'2026-11-23T08:58:18.127275+00:00',NULL,'2026-11-23T08:58:18.135374+00:00');
INSERT INTO "outbox" VALUES(6,'t1795424298050','{"v":1,"body":{"address":{"channel":"telegram","account":"home","chat":"7","thread":null},"text":"`Person 99 (telegram:99)` may now write to telegram.home directly, as a guest; I have told them.","reply_to":null,"files":[],"buttons":[]}}','2026-11-23T08:58:18.144328+00:00','sent',1,0,NULL,'2026-11-23T08:58:18.146003+00:00',NULL,'2026-11-23T09:05:18.155566+00:00');
INSERT INTO "outbox" VALUES(7,'t1795424718170','{"v":1,"body":{"address":{"channel":"telegram","account":"home","chat":"99","thread":null},"text":"Done: Error: there is no tool ''save_memory''; the tools are: add_no\n\n— ✗ `save_memory` failed · ✗ nothing was saved","reply_to":null,"files":[],"buttons":[{"label":"Save it","command":"/fulfil 81652d2fa1831e1e"}]}}','2026-11-23T09:05:18.219062+00:00','sent',1,0,NULL,'2026-11-23T09:05:18.221115+00:00',NULL,'2026-11-23T09:12:18.225843+00:00');
INSERT INTO "outbox" VALUES(8,'t1795425138230','{"v":1,"body":{"address":{"channel":"telegram","account":"home","chat":"-100","thread":null},"text":"Done: Error: there is no tool ''save_memory''; the tools are: add_no\n\n— ✗ `save_memory` failed · ✗ nothing was saved","reply_to":"1","files":[],"buttons":[{"label":"Save it","command":"/fulfil 568dc13c6a46c766"}]}}','2026-11-23T09:12:18.266224+00:00','sent',1,0,NULL,'2026-11-23T09:12:18.267077+00:00',NULL,'2026-11-23T09:19:18.274124+00:00');
INSERT INTO "outbox" VALUES(9,'t1795425558291','{"v":1,"body":{"address":{"channel":"telegram","account":"home","chat":"-100","thread":null},"text":"Done: {\"hits\":[],\"mode\":\"hybrid\",\"notice\":\"\"}","reply_to":"3","files":[],"buttons":[]}}','2026-11-23T09:19:18.327810+00:00','sent',1,0,NULL,'2026-11-23T09:19:18.332198+00:00',NULL,'2026-11-23T09:19:19.018282+00:00');
INSERT INTO "outbox" VALUES(10,'t1795425979030','{"v":1,"body":{"address":{"channel":"telegram","account":"home","chat":"7","thread":null},"text":"Done: Noted in memory/2026-11-23.md#L4.\n\n— ✓ noted 1 line","reply_to":null,"files":[],"buttons":[{"label":"Undo","command":"/undo be34c8c4b491"},{"label":"Correct","command":"/correct be34c8c4b491"}]}}','2026-11-23T09:26:19.246009+00:00','sent',1,0,NULL,'2026-11-23T09:26:19.249459+00:00',NULL,'2026-11-23T09:26:19.320741+00:00');
INSERT INTO "outbox" VALUES(11,'t1795509440298','{"v":1,"body":{"address":{"channel":"telegram","account":"home","chat":"7","thread":null},"text":"A new conversation begins with your next message. The facts are noted in `memory/2026-11-23-1026.md`; every word stays in the conversation, and both are searched. 8 of 8 facts findable.","reply_to":null,"files":[],"buttons":[]}}','2026-11-24T08:37:24.297638+00:00','sent',1,0,NULL,'2026-11-24T08:37:24.310118+00:00',NULL,'2026-11-24T08:44:24.373636+00:00');
INSERT INTO "outbox" VALUES(12,'t1795509864393','{"v":1,"body":{"address":{"channel":"telegram","account":"home","chat":"7","thread":null},"text":"Done: {\"hits\":[{\"citation\":\"memory/2026-11-23.md#L3-L3\",\"path\":\"me","reply_to":null,"files":[],"buttons":[]}}','2026-11-24T08:44:24.574866+00:00','sent',1,0,NULL,'2026-11-24T08:44:24.576369+00:00',NULL,'2026-11-24T08:51:24.583616+00:00');
INSERT INTO "outbox" VALUES(13,'t1795510284585','{"v":1,"body":{"address":{"channel":"telegram","account":"home","chat":"7","thread":null},"text":"Done: Saved in MEMORY.md#L16.\n\n(I have read text marked `house`, and Telegram carries what I say here. The page and the terminal do not.)\n\n— ✓ noted 1 line","reply_to":null,"files":[],"buttons":[{"label":"Undo","command":"/undo 69493a7b0fbb"},{"label":"Correct","command":"/correct 69493a7b0fbb"}]}}','2026-11-24T08:51:24.684435+00:00','sent',1,0,NULL,'2026-11-24T08:51:24.688876+00:00',NULL,'2026-11-24T08:58:24.699802+00:00');
INSERT INTO "outbox" VALUES(14,'t1795510704705','{"v":1,"body":{"address":{"channel":"telegram","account":"home","chat":"7","thread":null},"text":"Done: Saved in MEMORY.md#L17.\n\n— ✓ noted 1 line","reply_to":null,"files":[],"buttons":[{"label":"Undo","command":"/undo 3f271abdbbff"},{"label":"Correct","command":"/correct 3f271abdbbff"}]}}','2026-11-24T08:58:25.064713+00:00','sent',1,0,NULL,'2026-11-24T08:58:25.065900+00:00',NULL,'2026-11-24T09:05:25.069363+00:00');
INSERT INTO "outbox" VALUES(15,'t1795511125070','{"v":1,"body":{"address":{"channel":"telegram","account":"home","chat":"7","thread":null},"text":"Done: {\"verdict\":\"No clear match; the closest:\",\"hits\":[{\"citation","reply_to":null,"files":[],"buttons":[]}}','2026-11-24T09:05:26.316298+00:00','sent',1,0,NULL,'2026-11-24T09:05:26.323448+00:00',NULL,'2026-11-24T09:05:26.326637+00:00');
CREATE TABLE pairings (
        channel TEXT NOT NULL, account TEXT NOT NULL, person TEXT NOT NULL, name TEXT NOT NULL, code TEXT,
        asked_at TEXT NOT NULL, until TEXT NOT NULL, PRIMARY KEY (channel, account, person)) STRICT, WITHOUT ROWID;
CREATE TABLE "quarantine" (
        id INTEGER PRIMARY KEY AUTOINCREMENT, reason TEXT NOT NULL, row INTEGER NOT NULL, content BLOB NOT NULL,
        beside BLOB NOT NULL, why TEXT NOT NULL, at TEXT NOT NULL) STRICT;
CREATE TABLE receipts (
        outbox_id INTEGER NOT NULL REFERENCES outbox ON DELETE CASCADE, part INTEGER NOT NULL,
        message_id TEXT NOT NULL, sent_at TEXT NOT NULL, PRIMARY KEY (outbox_id, part)) STRICT, WITHOUT ROWID;
INSERT INTO "receipts" VALUES(1,0,'2','2026-11-23T08:44:17.707972+00:00');
INSERT INTO "receipts" VALUES(2,0,'4','2026-11-23T08:51:17.947686+00:00');
INSERT INTO "receipts" VALUES(3,0,'2','2026-11-23T08:51:17.989602+00:00');
INSERT INTO "receipts" VALUES(4,0,'5','2026-11-23T08:58:18.019036+00:00');
INSERT INTO "receipts" VALUES(5,0,'3','2026-11-23T08:58:18.135374+00:00');
INSERT INTO "receipts" VALUES(6,0,'7','2026-11-23T09:05:18.155566+00:00');
INSERT INTO "receipts" VALUES(7,0,'5','2026-11-23T09:12:18.225843+00:00');
INSERT INTO "receipts" VALUES(8,0,'2','2026-11-23T09:19:18.274124+00:00');
INSERT INTO "receipts" VALUES(9,0,'4','2026-11-23T09:19:19.018282+00:00');
INSERT INTO "receipts" VALUES(10,0,'9','2026-11-23T09:26:19.320741+00:00');
INSERT INTO "receipts" VALUES(11,0,'11','2026-11-24T08:44:24.373636+00:00');
INSERT INTO "receipts" VALUES(12,0,'13','2026-11-24T08:51:24.583616+00:00');
INSERT INTO "receipts" VALUES(13,0,'15','2026-11-24T08:58:24.699802+00:00');
INSERT INTO "receipts" VALUES(14,0,'17','2026-11-24T09:05:25.069363+00:00');
INSERT INTO "receipts" VALUES(15,0,'19','2026-11-24T09:05:26.326637+00:00');
CREATE TABLE runs (
        id INTEGER PRIMARY KEY AUTOINCREMENT, job INTEGER NOT NULL REFERENCES jobs ON DELETE CASCADE,
        slot TEXT NOT NULL, state TEXT NOT NULL, message INTEGER, turn TEXT) STRICT;
CREATE TABLE seen (key TEXT PRIMARY KEY, expires_at TEXT NOT NULL) STRICT, WITHOUT ROWID;
INSERT INTO "seen" VALUES('["telegram", "home", "-100", null, "1"]','2026-12-07T09:12:18.230331+00:00');
INSERT INTO "seen" VALUES('["telegram", "home", "-100", null, "3"]','2026-12-07T09:19:18.291124+00:00');
INSERT INTO "seen" VALUES('["telegram", "home", "7", null, "1"]','2026-12-07T08:37:10.656492+00:00');
INSERT INTO "seen" VALUES('["telegram", "home", "7", null, "10"]','2026-12-08T08:37:20.298312+00:00');
INSERT INTO "seen" VALUES('["telegram", "home", "7", null, "12"]','2026-12-08T08:44:24.393469+00:00');
INSERT INTO "seen" VALUES('["telegram", "home", "7", null, "14"]','2026-12-08T08:51:24.585238+00:00');
INSERT INTO "seen" VALUES('["telegram", "home", "7", null, "16"]','2026-12-08T08:58:24.704870+00:00');
INSERT INTO "seen" VALUES('["telegram", "home", "7", null, "18"]','2026-12-08T09:05:25.070082+00:00');
INSERT INTO "seen" VALUES('["telegram", "home", "7", null, "3"]','2026-12-07T08:44:17.723521+00:00');
INSERT INTO "seen" VALUES('["telegram", "home", "7", null, "6"]','2026-12-07T08:58:18.050209+00:00');
INSERT INTO "seen" VALUES('["telegram", "home", "7", null, "8"]','2026-12-07T09:26:19.030258+00:00');
INSERT INTO "seen" VALUES('["telegram", "home", "99", null, "4"]','2026-12-07T09:05:18.170108+00:00');
CREATE TABLE silences (
        place TEXT NOT NULL, person TEXT NOT NULL, reason TEXT NOT NULL, at TEXT NOT NULL, times INTEGER NOT NULL,
        PRIMARY KEY (place, person, reason)) STRICT, WITHOUT ROWID;
INSERT INTO "silences" VALUES('["telegram", "home", "99", null]','telegram:99','unpaired','2026-11-23T08:51:17.949080+00:00',1);
CREATE TABLE spending (
        agent TEXT NOT NULL, day TEXT NOT NULL, cause TEXT NOT NULL, input INTEGER NOT NULL, output INTEGER NOT NULL,
        cached INTEGER NOT NULL, nanos INTEGER NOT NULL, unpriced INTEGER NOT NULL,
        PRIMARY KEY (agent, day, cause)) STRICT, WITHOUT ROWID;
INSERT INTO "spending" VALUES('main','2026-11-23','chat',66,42,30,0,108);
INSERT INTO "spending" VALUES('main','2026-11-23','flush',44,28,20,0,72);
INSERT INTO "spending" VALUES('main','2026-11-23','group',44,28,20,0,72);
INSERT INTO "spending" VALUES('main','2026-11-23','guest',22,14,10,0,36);
INSERT INTO "spending" VALUES('main','2026-11-24','chat',99,63,45,0,162);
INSERT INTO "spending" VALUES('main','2026-11-24','flush',44,28,20,0,72);
CREATE TABLE turns (id TEXT PRIMARY KEY, committed_at TEXT NOT NULL) STRICT, WITHOUT ROWID;
INSERT INTO "turns" VALUES('t1795423030656','2026-11-23T08:37:17.684845+00:00');
INSERT INTO "turns" VALUES('t1795423457724','2026-11-23T08:44:17.936591+00:00');
INSERT INTO "turns" VALUES('t1795424298050','2026-11-23T08:58:18.144328+00:00');
INSERT INTO "turns" VALUES('t1795424718170','2026-11-23T09:05:18.219062+00:00');
INSERT INTO "turns" VALUES('t1795425138230','2026-11-23T09:12:18.266224+00:00');
INSERT INTO "turns" VALUES('t1795425558291','2026-11-23T09:19:18.327810+00:00');
INSERT INTO "turns" VALUES('t1795425979030','2026-11-23T09:26:19.246009+00:00');
INSERT INTO "turns" VALUES('t1795509440298','2026-11-24T08:37:24.297638+00:00');
INSERT INTO "turns" VALUES('t1795509864393','2026-11-24T08:44:24.574866+00:00');
INSERT INTO "turns" VALUES('t1795510284585','2026-11-24T08:51:24.684435+00:00');
INSERT INTO "turns" VALUES('t1795510704705','2026-11-24T08:58:25.064713+00:00');
INSERT INTO "turns" VALUES('t1795511125070','2026-11-24T09:05:26.316298+00:00');
CREATE TABLE unsure (
        id INTEGER PRIMARY KEY AUTOINCREMENT, outbox_id INTEGER NOT NULL, address TEXT NOT NULL, part INTEGER NOT NULL,
        at TEXT NOT NULL, why TEXT NOT NULL) STRICT;
CREATE INDEX outbox_by_state ON outbox (state, id);
CREATE INDEX changes_by_state ON changes (state, id);
CREATE INDEX silences_by_time ON silences (at);
CREATE INDEX runs_by_job ON runs (job, id);
CREATE INDEX runs_by_message ON runs (message);
CREATE INDEX runs_by_turn ON runs (turn);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('inbox',1795511125070);
INSERT INTO "sqlite_sequence" VALUES('outbox',15);
INSERT INTO "sqlite_sequence" VALUES('jobs',1);
COMMIT;
PRAGMA user_version = 7;
