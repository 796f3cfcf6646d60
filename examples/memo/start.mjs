#!/usr/bin/env node
/** Starts the whole application, and ends it with Ctrl+C: back end, page, Belljar, tools. README.md says more. */
import { once } from "node:events";
import { homedir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { createBackEnd } from "./back-end.mjs";
import { addTools, removeTools, startBelljar } from "./belljar.mjs";
import { Foreseen } from "./foreseen.mjs";
import { createFrontEnd } from "./front-end.mjs";
import { Memos } from "./memos.mjs";

const HOST = "127.0.0.1";
const OPTIONS = {
  port: { type: "string", default: "48000" },
  "page-port": { type: "string", default: "48002" },
  folder: { type: "string", default: join(homedir(), ".belljar-memo") },
  belljar: { type: "string" },
  "mcp-port": { type: "string", default: "47070" },
  "admin-port": { type: "string", default: "47071" },
  help: { type: "boolean", short: "h" },
};
const HELP = `Usage: node examples/memo/start.mjs [OPTIONS]

Starts the Memo application: its back end, its page, a Belljar server and five tools. Ctrl+C ends it.

  --port N         Port of the back end (default 48000)
  --page-port N    Port of the page (default 48002)
  --folder DIR     Folder with the memos (default ~/.belljar-memo)
  --belljar URL    A Belljar server of this machine that runs already; BELLJAR_TOKEN is the token for it
  --mcp-port N     Port of MCP of the server that is started (default 47070)
  --admin-port N   Port of MCP Box's API of that server (default 47071)
  -h, --help       Show this help`;

function readOptions() {
  try {
    return parseArgs({ options: OPTIONS }).values;
  } catch (error) {
    throw new Foreseen(`${error.message}\nSee: node examples/memo/start.mjs --help`);
  }
}

/** Port 0 is a free one. */
async function listen(server, port, option) {
  if (!/^\d{1,5}$/.test(port) || Number(port) > 65_535) throw new Foreseen(`--${option} ${port} is no port: give a number up to 65535`);
  server.listen({ host: HOST, port: Number(port) });
  await once(server, "listening").catch((error) => {
    if (error.code === "EADDRINUSE") throw new Foreseen(`Port ${port} is in use: choose another with --${option} N`);
    if (error.code === "EACCES") throw new Foreseen(`Port ${port} may not be used by this user: choose one above 1023 with --${option} N`);
    throw error;
  });
  return `http://${HOST}:${server.address().port}`;
}

function close(server) {
  server.close();
  server.closeAllConnections();
}

function openMemos(folder) {
  return Memos.open(folder).catch((error) => {
    throw new Foreseen(`The folder ${folder} cannot be used (${error.code ?? error.message}): choose another with --folder DIR`);
  });
}

async function serve(values) {
  let page;
  const stopped = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => stopped.abort());
  const back = createBackEnd(await openMemos(values.folder), (origin) => origin === page || origin === page?.replace(HOST, "localhost"));
  let front;
  let belljar;
  try {
    const backEnd = await listen(back.server, values.port, "port");
    front = createFrontEnd(backEnd);
    page = await listen(front, values["page-port"], "page-port");
    belljar = values.belljar === undefined ? await startBelljar(values["mcp-port"], values["admin-port"]) : { url: values.belljar };
    const mcp = await addTools(belljar.url, backEnd);
    console.log(`Memo: ${page}\nBack end: ${backEnd}\nMCP: ${mcp}`);
    if (!stopped.signal.aborted) await once(stopped.signal, "abort");
    await removeTools(belljar.url);
  } finally {
    await belljar?.stop?.();
    back.end();
    close(back.server);
    if (front) close(front);
  }
}

try {
  const values = readOptions();
  if (values.help) console.log(HELP);
  else await serve(values);
} catch (error) {
  if (!(error instanceof Foreseen)) throw error;
  console.error(`memo: ${error.message}`);
  process.exitCode = 1;
}
