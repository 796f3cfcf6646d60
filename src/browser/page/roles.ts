import { attributeOf, hasAttribute, isEditable, localNameOf, parentElementOf } from "./dom.ts";

/** The role of an element: what its maker says, or what its tag means (WAI-ARIA in HTML, in part). Undefined: it only holds others. */
export function roleOf(element: Element): string | undefined {
  const said = attributeOf(element, "role")?.slice(0, ROLE_MAX).trim().toLowerCase().split(/\s/, 1)[0];
  if (said !== undefined && said !== "") return said === "none" || said === "presentation" ? undefined : KNOWN.has(said) ? said : undefined;
  const tag = localNameOf(element);
  if (tag === "input") return INPUTS[(element as HTMLInputElement).type] ?? "textbox";
  if (tag === "a" || tag === "area") return hasAttribute(element, "href") ? "link" : undefined;
  if (tag === "select") return (element as HTMLSelectElement).multiple || (element as HTMLSelectElement).size > 1 ? "listbox" : "combobox";
  if (tag === "img") return attributeOf(element, "alt") === "" ? undefined : "img";
  if (tag === "section") return hasAttribute(element, "aria-label") || hasAttribute(element, "aria-labelledby") ? "region" : undefined;
  if (tag === "header" || tag === "footer") return isInBody(element) ? TAGS[tag] : undefined;
  return Object.hasOwn(TAGS, tag) ? TAGS[tag] : editable(element);
}

function editable(element: Element): string | undefined {
  return isEditable(element) && !isEditable(parentElementOf(element)) ? "textbox" : undefined;
}

function isInBody(element: Element): boolean {
  const parent = parentElementOf(element);
  return parent !== null && localNameOf(parent) === "body";
}

const ROLE_MAX = 100;

const INPUTS: Readonly<Record<string, string | undefined>> = {
  button: "button",
  submit: "button",
  reset: "button",
  image: "button",
  checkbox: "checkbox",
  radio: "radio",
  range: "slider",
  number: "spinbutton",
  search: "searchbox",
  file: "file",
};

const TAGS: Readonly<Record<string, string>> = {
  article: "article",
  aside: "complementary",
  audio: "audio",
  blockquote: "blockquote",
  button: "button",
  canvas: "canvas",
  code: "code",
  dd: "definition",
  details: "group",
  dialog: "dialog",
  dt: "term",
  fieldset: "group",
  figure: "figure",
  footer: "contentinfo",
  form: "form",
  frame: "iframe",
  h1: "heading",
  h2: "heading",
  h3: "heading",
  h4: "heading",
  h5: "heading",
  h6: "heading",
  header: "banner",
  hr: "separator",
  iframe: "iframe",
  li: "listitem",
  main: "main",
  menu: "list",
  meter: "meter",
  nav: "navigation",
  ol: "list",
  option: "option",
  optgroup: "group",
  output: "status",
  p: "paragraph",
  pre: "code",
  progress: "progressbar",
  search: "search",
  summary: "button",
  svg: "img",
  table: "table",
  td: "cell",
  textarea: "textbox",
  th: "columnheader",
  tr: "row",
  ul: "list",
  video: "video",
};

/** Roles whose elements a person works with. */
export const ACTED_ON: ReadonlySet<string> = new Set(
  (
    "button checkbox combobox file link listbox menuitem menuitemcheckbox menuitemradio option radio scrollbar searchbox slider spinbutton switch tab " +
    "textbox treeitem"
  ).split(" "),
);

/** Roles that are named by what stands in them. */
export const NAMED_BY_CONTENT: ReadonlySet<string> = new Set(
  "button cell checkbox columnheader gridcell heading link menuitem menuitemcheckbox menuitemradio option radio rowheader switch tab tooltip treeitem".split(
    " ",
  ),
);

const KNOWN: ReadonlySet<string> = new Set([
  ...ACTED_ON,
  ...NAMED_BY_CONTENT,
  ...Object.values(TAGS),
  ...(
    "alert alertdialog application dialog document feed grid log marquee math menu menubar note radiogroup region rowgroup status tablist tabpanel " +
    "timer toolbar tree treegrid"
  ).split(" "),
]);

/** What stands in it is its value, or the values to choose from. */
export function holdsValues(element: Element): boolean {
  return ["select", "datalist", "textarea"].includes(localNameOf(element));
}
