import { gfm } from "@joplin/turndown-plugin-gfm";
import { Readability } from "@mozilla/readability";
import { parseHTML } from "linkedom";
import TurndownService from "turndown";

export interface Page {
  readonly title: string;
  readonly markdown: string;
}

export interface PageOptions {
  /** Base URL of relative links. */
  readonly url: URL;
  /** Convert the whole page, not only its main text. */
  readonly whole: boolean;
}

type Document = ReturnType<typeof parseHTML>["document"];
type PageElement = NonNullable<ReturnType<Document["querySelector"]>>;

interface PageNode {
  readonly firstChild: PageNode | null;
  readonly nextSibling: PageNode | null;
  readonly parentNode: PageNode | null;
}

/** Elements that hold no text to read: scripts, styles, and embedded content. */
const DROPPED = "script, style, noscript, template, iframe, object, embed, svg, canvas, link, meta";
/** If the main text is a smaller share of the page's text, the guess was wrong. */
const LEAST_SHARE = 0.02;

/** Browsers nest elements no deeper. Finding the main text takes longer with each level. */
const DEPTH_MAX = 512;

/**
 * Converts the main text of an HTML page to Markdown with absolute links. If no main text is found, it converts the whole page.
 * Throws a `RangeError` for a page that is nested too deeply.
 */
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
      if (depth > DEPTH_MAX) throw new RangeError("The page is nested too deeply");
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

/** Removes links of other schemes, such as `javascript:` and `data:`. */
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
