import { spawn } from "node:child_process";
import { text } from "node:stream/consumers";
import type { Fetched } from "./web-fetch.ts";
import { FetchFailure, fetchPage } from "./web-fetch.ts";
import { toMarkdown } from "./web-markdown.ts";

/** Reads `{url, whole}` from stdin and fetches the page. Writes a line of JSON about the page or the failure, and then the page's text. */

interface Request {
  readonly url: string;
  readonly whole: boolean;
}

type Answer =
  | {
      readonly kind: "page";
      readonly url: string;
      readonly status: number;
      readonly type: string;
      readonly title: string;
      readonly text: string;
      readonly cut: boolean;
    }
  | { readonly kind: "refused" | "failed" | "unreadable"; readonly message: string };

type Content = Pick<Extract<Answer, { kind: "page" }>, "title" | "text">;

const MAX_BYTES = 10 * 1_048_576;
const TITLE_MAX = 1_000;
const TEXT_MAX = 2 * 1_048_576;
const TIMEOUT_MS = 45_000;
const HTML = /^(text\/html|application\/xhtml\+xml)$/;

async function visit({ url, whole }: Request): Promise<Answer> {
  const options = { maxBytes: MAX_BYTES, signal: AbortSignal.timeout(TIMEOUT_MS), env: process.env };
  try {
    const fetched = await fetchPage(new URL(url), options);
    const type = typeOf(fetched);
    const { title, text: read } = await readContent(fetched, type, whole);
    const cut = fetched.isCut || read.length > TEXT_MAX;
    return {
      kind: "page",
      url: fetched.url.href,
      status: fetched.status,
      type,
      title: title.slice(0, TITLE_MAX),
      text: read.slice(0, TEXT_MAX),
      cut,
    };
  } catch (error) {
    if (error instanceof FetchFailure) return { kind: error.kind, message: error.message };
    if (error instanceof Unreadable) return { kind: "unreadable", message: error.message };
    throw error;
  }
}

class Unreadable extends Error {}

/** Without a Content-Type, a body that looks like HTML counts as HTML. */
function typeOf({ contentType, body }: Fetched): string {
  const [type = ""] = contentType.split(";");
  if (type.trim() !== "") return type.trim();
  return /^\s*<(!doctype html|html|head|body)/i.test(body.subarray(0, 512).toString("latin1")) ? "text/html" : "text/plain";
}

async function readContent(fetched: Fetched, type: string, whole: boolean): Promise<Content> {
  if (type === "application/pdf") return { title: "", text: await readPdf(fetched) };
  if (!isText(fetched, type)) {
    throw new Unreadable(`It is ${type || "not text"} of ${fetched.body.length} bytes; fetch it into a file with run_command`);
  }
  const decoded = decodeText(fetched);
  if (!HTML.test(type)) return { title: "", text: decoded };
  try {
    const { title, markdown } = toMarkdown(decoded, { url: fetched.url, whole });
    return { title, text: markdown };
  } catch (error) {
    // No person wrote a page that is nested so deeply.
    if (error instanceof RangeError) throw new Unreadable("Its HTML is nested too deeply to be read");
    throw error;
  }
}

function isText({ body }: Fetched, type: string): boolean {
  if (/^(image|audio|video|font)\/(?!svg)/.test(type)) return false;
  return type.startsWith("text/") || !body.subarray(0, 8_192).includes(0);
}

/** Uses the charset of the header, else the charset that the page declares, else UTF-8. */
function decodeText({ contentType, body }: Fetched): string {
  const said = /charset\s*=\s*["']?([\w:.-]+)/i;
  const label = said.exec(contentType)?.[1] ?? said.exec(body.subarray(0, 2_048).toString("latin1"))?.[1] ?? "utf-8";
  try {
    return new TextDecoder(label).decode(body);
  } catch (error) {
    if (error instanceof RangeError) return new TextDecoder().decode(body);
    throw error;
  }
}

async function readPdf({ body, isCut }: Fetched): Promise<string> {
  if (isCut) throw new Unreadable(`It is a PDF of more than ${MAX_BYTES} bytes; fetch it into a file with run_command`);
  const child = spawn("pdftotext", ["-layout", "-enc", "UTF-8", "-", "-"], { stdio: ["pipe", "pipe", "ignore"] });
  // It may end before it has read all input. Its exit code tells.
  child.stdin.on("error", () => undefined);
  const missing = new Promise<never>((_done, reject) => {
    child.once("error", () => reject(new Unreadable("It is a PDF, and this sandbox has no pdftotext to read it")));
  });
  const closed = new Promise<number | null>((done) => child.once("close", done));
  child.stdin.end(body);
  const read = await Promise.race([text(child.stdout), missing]);
  if ((await Promise.race([closed, missing])) !== 0) throw new Unreadable("It is a PDF that pdftotext cannot read");
  return read;
}

const answer = await visit(JSON.parse(await text(process.stdin)) as Request);
// Exit explicitly, because open connections must not keep the process alive.
const { text: page = "", ...head } = { text: undefined, ...answer };
process.stdout.write(`${JSON.stringify(head)}\n${page}`, () => process.exit());
