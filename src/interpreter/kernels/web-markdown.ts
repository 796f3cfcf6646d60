import { gfm } from "@joplin/turndown-plugin-gfm";
import { Readability } from "@mozilla/readability";
import { parseHTML } from "linkedom";
import TurndownService from "turndown";

export interface Page {
  readonly title: string;
  readonly markdown: string;
}

export interface PageOptions {
  /** What links are relative to. */
  readonly url: URL;
  /** The whole page, and not its main text alone. */
  readonly whole: boolean;
}

type Document = ReturnType<typeof parseHTML>["document"];
type PageElement = NonNullable<ReturnType<Document["querySelector"]>>;

interface PageNode {
  readonly firstChild: PageNode | null;
  readonly nextSibling: PageNode | null;
  readonly parentNode: PageNode | null;
}

/** What is never read: programs, looks, and what only a browser can show. */
const DROPPED = "script, style, noscript, template, iframe, object, embed, svg, canvas, link, meta";
/** A main text this much shorter than the page is a wrong guess. */
const LEAST_SHARE = 0.02;

/** Browsers nest no deeper; to look for the main text takes a time that grows with it. */
const DEPTH_MAX = 512;

/** The main text of an HTML page, or all of it where none stands out, as Markdown with absolute links. Throws a `RangeError` for one that is nested too deep. */
export function toMarkdown(html: string, options: PageOptions): Page {
  const { document } = parseHTML(/<html[\s>]/i.test(html) ? html : `<!doctype html><html><head></head><body>${html}</body></html>`);
  assertShallow(document);
  const title = (document.querySelector("title")?.textContent ?? "").trim();
  tidy(document, baseOf(document, options.url));
  const all = document.body.textContent?.trim() ? document.body.innerHTML : (document.documentElement?.innerHTML ?? "");
  const main = options.whole ? undefined : findMain(document);
  return { title: main?.title || title, markdown: render(main?.content ?? all) };
}

function assertShallow(document: Document): void {
  const root: PageNode = document.documentElement;
  let depth = 0;
  for (let node: PageNode | null = root; node;) {
    if (node.firstChild) {
      depth += 1;
      if (depth > DEPTH_MAX) throw new RangeError("The page is nested too deep");
      node = node.firstChild;
      continue;
    }
    while (node && node !== root && !node.nextSibling) {
      depth -= 1;
      node = node.parentNode;
    }
    node = node === root ? null : (node?.nextSibling ?? null);
  }
}

function findMain(document: Document): { readonly title: string; readonly content: string } | undefined {
  const length = document.body?.textContent?.trim().length ?? 0;
  const article = new Readability(document, { charThreshold: 200 }).parse();
  if (!article?.content || (article.textContent ?? "").trim().length < length * LEAST_SHARE) return undefined;
  return { title: article.title?.trim() ?? "", content: article.content };
}

function baseOf(document: Document, url: URL): URL {
  const href = document.querySelector("base[href]")?.getAttribute("href");
  return href && URL.canParse(href, url.href) ? new URL(href, url) : url;
}

function tidy(document: Document, base: URL): void {
  for (const element of document.querySelectorAll(DROPPED)) element.remove();
  for (const element of document.querySelectorAll("body title")) element.remove();
  for (const name of ["href", "src"]) {
    for (const element of document.querySelectorAll(`[${name}]`)) absolutise(element, name, base);
  }
}

/** Links that are none, as `javascript:` and images in the page itself, are left out. */
function absolutise(element: PageElement, name: string, base: URL): void {
  const value = element.getAttribute(name) ?? "";
  const target = URL.canParse(value, base.href) ? new URL(value, base) : undefined;
  if (target && ["http:", "https:", "mailto:"].includes(target.protocol)) element.setAttribute(name, target.href);
  else element.removeAttribute(name);
}

function render(html: string): string {
  const service = new TurndownService({ headingStyle: "atx", codeBlockStyle: "fenced", bulletListMarker: "-", emDelimiter: "*" });
  service.use(gfm);
  return service
    .turndown(html)
    .replaceAll(/(?<![ \t])[ \t]+$/gm, "")
    .replaceAll(/\n{3,}/g, "\n\n")
    .trim();
}
