import { activeElementOf, attributeOf, bodyOf, documentOf, localNameOf, matches, parentElementOf } from "./dom.ts";
import { tidy } from "./names.ts";

const VALUE_MAX = 120;
/** Of a list in which several can be chosen. */
const CHOSEN_MAX = 20;

/** What is to be known of an element beside its role and name, as `disabled` or `value="a"`. */
export function statesOf(element: Element, role: string): readonly string[] {
  return [
    ...(role === "heading" ? [`level=${levelOf(element)}`] : []),
    ...(isDisabled(element) ? ["disabled"] : []),
    ...(isChecked(element) ? ["checked"] : []),
    ...flag(element, "aria-selected", "selected"),
    ...flag(element, "aria-pressed", "pressed"),
    ...expanded(element),
    ...flag(element, "aria-invalid", "invalid"),
    ...(attributeOf(element, "aria-current") ? ["current"] : []),
    ...(isRequired(element) ? ["required"] : []),
    ...(element instanceof HTMLDialogElement && matches(element, ":modal") ? ["modal"] : []),
    ...(isFocused(element) ? ["focused"] : []),
    ...typeOf(element),
    ...valueOf(element, role),
    ...urlOf(element),
  ];
}

function isRequired(element: Element): boolean {
  const isField = element instanceof HTMLInputElement || element instanceof HTMLSelectElement || element instanceof HTMLTextAreaElement;
  return isField && element.required;
}

function isFocused(element: Element): boolean {
  const document = documentOf(element);
  return element === activeElementOf(document) && element !== bodyOf(document);
}

function levelOf(element: Element): string {
  return tidy(attributeOf(element, "aria-level") ?? "", 3) || (/^h([1-6])$/.exec(localNameOf(element))?.[1] ?? "2");
}

function isDisabled(element: Element): boolean {
  return attributeOf(element, "aria-disabled") === "true" || matches(element, ":disabled");
}

function isChecked(element: Element): boolean {
  return (element instanceof HTMLInputElement && element.checked) || attributeOf(element, "aria-checked") === "true";
}

function flag(element: Element, attribute: string, word: string): readonly string[] {
  return attributeOf(element, attribute) === "true" ? [word] : [];
}

function expanded(element: Element): readonly string[] {
  const parent = parentElementOf(element);
  if (localNameOf(element) === "summary" && parent instanceof HTMLDetailsElement) return [parent.open ? "expanded" : "collapsed"];
  const said = attributeOf(element, "aria-expanded");
  return said === "true" ? ["expanded"] : said === "false" ? ["collapsed"] : [];
}

/** Of a field that takes texts of one form alone. */
function typeOf(element: Element): readonly string[] {
  return element instanceof HTMLInputElement && FORMED.has(element.type) ? [`type=${element.type}`] : [];
}

const FORMED: ReadonlySet<string> = new Set(["color", "date", "datetime-local", "email", "month", "number", "tel", "time", "url", "week"]);

/** Where a link leads, from the page's own site without its name. */
function urlOf(element: Element): readonly string[] {
  if (!(element instanceof HTMLAnchorElement || element instanceof HTMLAreaElement)) return [];
  const { protocol, origin } = element;
  const url = WEB.has(protocol) && origin === location.origin ? element.pathname + element.search + element.hash : element.href;
  return url === "" || protocol === "javascript:" ? [] : [`url=${tidy(url, URL_MAX).replaceAll(" ", "%20")}`];
}

const WEB: ReadonlySet<string> = new Set(["http:", "https:"]);
const URL_MAX = 80;

/** The value of a field. Nobody reads one that is a password. */
function valueOf(element: Element, role: string): readonly string[] {
  if (element instanceof HTMLSelectElement) {
    const chosen = Array.from(element.selectedOptions).slice(0, CHOSEN_MAX);
    const value = chosen.map(({ label }) => label).join(", ");
    return chosen.length > 0 ? [`value=${JSON.stringify(tidy(value, VALUE_MAX))}`, `options=${element.options.length}`] : [];
  }
  const isField = element instanceof HTMLTextAreaElement || (element instanceof HTMLInputElement && FIELDS.has(role));
  if (isField && (element as HTMLInputElement).type === "password") return (element as HTMLInputElement).value === "" ? [] : ["filled"];
  const value = isField
    ? (element as HTMLInputElement).value
    : (attributeOf(element, "aria-valuetext") ?? attributeOf(element, "aria-valuenow") ?? "");
  return value === "" ? [] : [`value=${JSON.stringify(tidy(value, VALUE_MAX))}`];
}

const FIELDS: ReadonlySet<string> = new Set(["textbox", "searchbox", "spinbutton", "slider", "combobox"]);
