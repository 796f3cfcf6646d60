/** The back end: memos over HTTP, and a stream that says when they change. It serves this machine alone. */
import { createServer } from "node:http";
import { MemoError } from "./memos.mjs";

const BODY_MAX = 65_536;

/** `isPage(origin)`: whether a web page of that origin may ask. */
export function createBackEnd(memos, isPage) {
  const watchers = new Set();
  const changed = () => watchers.forEach((watcher) => watcher.write("data: changed\n\n"));
  const server = createServer((request, response) => {
    serve(request, response, { memos, isPage, watchers, changed }).catch((error) => fail(response, error));
  });
  return { server, end: () => watchers.forEach((watcher) => watcher.end()) };
}

async function serve(request, response, { memos, isPage, watchers, changed }) {
  allow(request, response, isPage);
  const { pathname } = new URL(request.url, "http://memo");
  const route = `${request.method} ${pathname.replace(/^\/memos\/[^/]+$/, "/memos/:id")}`;
  const id = pathname.slice("/memos/".length);
  switch (route) {
    case "OPTIONS /memos":
    case "OPTIONS /memos/:id":
      return void response.writeHead(204).end();
    case "GET /memos":
      return answer(response, 200, { memos: await memos.list() });
    case "GET /memos/:id":
      return answer(response, 200, await memos.get(id));
    case "GET /changes":
      return watch(response, watchers);
    case "POST /memos":
      answer(response, 201, await memos.create(await bodyOf(request)));
      return changed();
    case "PUT /memos/:id":
      answer(response, 200, await memos.update(id, await bodyOf(request)));
      return changed();
    case "DELETE /memos/:id":
      answer(response, 200, await memos.remove(id));
      return changed();
    default:
      throw new MemoError(404, "There is nothing here: see /memos");
  }
}

/** Other sites' pages are refused, and so is a name that was rebound to this address. Programs send no Origin. */
function allow({ headers }, response, isPage) {
  if (!/^(127\.0\.0\.1|localhost)(:\d+)?$/.test(headers.host ?? "")) throw new MemoError(403, "The Host header names another server");
  if (headers.origin === undefined) return;
  if (!isPage(headers.origin)) throw new MemoError(403, "Pages of other sites are refused");
  response.setHeader("access-control-allow-origin", headers.origin);
  response.setHeader("access-control-allow-methods", "GET, POST, PUT, DELETE");
  response.setHeader("access-control-allow-headers", "content-type");
  response.setHeader("vary", "origin");
}

function watch(response, watchers) {
  response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" });
  response.write(": here\n\n");
  watchers.add(response);
  response.once("close", () => watchers.delete(response));
}

async function bodyOf(request) {
  if (!/^application\/json\b/.test(request.headers["content-type"] ?? "")) throw new MemoError(415, "Send application/json");
  const parts = [];
  let size = 0;
  for await (const part of request) {
    size += part.length;
    if (size > BODY_MAX) throw new MemoError(413, `A memo has at most ${BODY_MAX} bytes`);
    parts.push(part);
  }
  try {
    return JSON.parse(Buffer.concat(parts).toString("utf8"));
  } catch {
    throw new MemoError(400, "The body is no JSON");
  }
}

function answer(response, status, value) {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value));
}

function fail(response, error) {
  if (response.headersSent) return response.destroy();
  if (!(error instanceof MemoError)) console.error(error);
  answer(response, error.status ?? 500, { error: error instanceof MemoError ? error.message : "The back end failed" });
}
