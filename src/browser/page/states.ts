import { tidy } from "./names.ts";

const VALUE_MAX = 120;

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
    ...(element.getAttribute("aria-current") ? ["current"] : []),
    ...((element as { readonly required?: boolean }).required === true ? ["required"] : []),
    ...(element === element.ownerDocument.activeElement && element !== element.ownerDocument.body ? ["focused"] : []),
    ...valueOf(element, role),
  ];
}

function levelOf(element: Element): string {
  return tidy(element.getAttribute("aria-level") ?? "", 3) || (/^h([1-6])$/.exec(element.localName)?.[1] ?? "2");
}

function isDisabled(element: Element): boolean {
  return element.getAttribute("aria-disabled") === "true" || element.matches(":disabled");
}

function isChecked(element: Element): boolean {
  return (element instanceof HTMLInputElement && element.checked) || element.getAttribute("aria-checked") === "true";
}

function flag(element: Element, attribute: string, word: string): readonly string[] {
  return element.getAttribute(attribute) === "true" ? [word] : [];
}

function expanded(element: Element): readonly string[] {
  const { parentElement: parent } = element;
  if (element.localName === "summary" && parent instanceof HTMLDetailsElement) return [parent.open ? "expanded" : "collapsed"];
  const said = element.getAttribute("aria-expanded");
  return said === "true" ? ["expanded"] : said === "false" ? ["collapsed"] : [];
}

/** The value of a field. Nobody reads one that is a password. */
function valueOf(element: Element, role: string): readonly string[] {
  if (element instanceof HTMLSelectElement) {
    const chosen = element.selectedOptions[0];
    return chosen ? [`value=${JSON.stringify(tidy(chosen.label, VALUE_MAX))}`, `options=${element.options.length}`] : [];
  }
  const isField = element instanceof HTMLTextAreaElement || (element instanceof HTMLInputElement && FIELDS.has(role));
  if (isField && (element as HTMLInputElement).type === "password") return (element as HTMLInputElement).value === "" ? [] : ["filled"];
  const value = isField
    ? (element as HTMLInputElement).value
    : (element.getAttribute("aria-valuetext") ?? element.getAttribute("aria-valuenow") ?? "");
  return value === "" ? [] : [`value=${JSON.stringify(tidy(value, VALUE_MAX))}`];
}

const FIELDS: ReadonlySet<string> = new Set(["textbox", "searchbox", "spinbutton", "slider", "combobox"]);
