#!/usr/bin/env node
/** Starts the whole application, and ends it with Ctrl+C: back end, page, Belljar, tools. README.md says more. */
import { once } from "node:events";
import { homedir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { createBackEnd } from "./back-end.mjs";
import { addTools, removeTools, startBelljar } from "./belljar.mjs";
import { createFrontEnd } from "./front-end.mjs";
import { Memos } from "./memos.mjs";

const HOST = "127.0.0.1";
const { values } = parseArgs({
  options: {
    port: { type: "string", default: "48000" },
    "page-port": { type: "string", default: "48002" },
    folder: { type: "string", default: join(homedir(), ".belljar-memo") },
    belljar: { type: "string" },
    "mcp-port": { type: "string", default: "47070" },
    "admin-port": { type: "string", default: "47071" },
  },
});

async function listen(server, port) {
  server.listen({ host: HOST, port: Number(port) });
  await once(server, "listening");
  return `http://${HOST}:${server.address().port}`;
}

function close(server) {
  server.close();
  server.closeAllConnections();
}

let page;
const stopped = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => stopped.abort());
const back = createBackEnd(await Memos.open(values.folder), (origin) => origin === page || origin === page?.replace(HOST, "localhost"));
const backEnd = await listen(back.server, values.port);
const front = createFrontEnd(backEnd);
page = await listen(front, values["page-port"]);
const belljar = values.belljar === undefined ? await startBelljar(values["mcp-port"], values["admin-port"]) : { url: values.belljar };
try {
  const mcp = await addTools(belljar.url, backEnd);
  console.log(`Memo: ${page}\nBack end: ${backEnd}\nMCP: ${mcp}`);
  if (!stopped.signal.aborted) await once(stopped.signal, "abort");
  await removeTools(belljar.url);
} finally {
  await belljar.stop?.();
  back.end();
  close(back.server);
  close(front);
}
