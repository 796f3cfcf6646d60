/** The front end: the files of `page/`, and where the back end is. */
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";

const FILES = { "/": ["index.html", "text/html"], "/page.js": ["page.js", "text/javascript"], "/page.css": ["page.css", "text/css"] };

export function createFrontEnd(backEnd) {
  const policy = `default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self' ${backEnd}`;
  return createServer(({ url }, response) => {
    if (url === "/back-end.json") return void response.setHeader("content-type", "application/json").end(JSON.stringify({ url: backEnd }));
    const [name, type] = FILES[url] ?? [];
    if (name === undefined) return void response.writeHead(404).end();
    response.setHeader("content-security-policy", policy).setHeader("content-type", `${type}; charset=utf-8`);
    return void response.end(readFileSync(join(import.meta.dirname, "page", name)));
  });
}
