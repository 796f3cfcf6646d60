/**
 * The members of elements and documents, taken from their prototypes. A form has what stands in it under its name, before members of its own and
 * in every world of scripts: `<form><input name="getAttribute">`. A document has it too, in the page's world alone as Chromium does it. So what
 * looks at a page asks by these, whatever it looks at.
 */

type Member = (...given: readonly unknown[]) => unknown;

/** The member as a function of whose it is. */
const unbound = (member: Member): Member => Function.prototype.call.bind(member) as Member;

function getter<Of extends object, Name extends keyof Of>(prototype: Of, name: Name): (of: Of) => Of[Name] {
  const get = Reflect.get(Object.getOwnPropertyDescriptor(prototype, name) ?? {}, "get") as Member | undefined;
  if (!get) throw new TypeError(`There is no ${String(name)}`);
  return unbound(get) as (of: Of) => Of[Name];
}

type Method<Of, Of_Member> = Of_Member extends (...given: infer Given) => infer Result ? (of: Of, ...given: Given) => Result : never;

function method<Of extends object, Name extends keyof Of>(prototype: Of, name: Name): Method<Of, Of[Name]> {
  return unbound(prototype[name] as Member) as Method<Of, Of[Name]>;
}

const node = Node.prototype;
export const firstChildOf = getter(node, "firstChild");
export const nextSiblingOf = getter(node, "nextSibling");
export const parentElementOf = getter(node, "parentElement");
export const isConnected = getter(node, "isConnected");
export const rootOf = method(node, "getRootNode");
const ownerDocument = getter(node, "ownerDocument");

const element = Element.prototype;
export const localNameOf = getter(element, "localName");
export const childrenOf = getter(element, "children");
export const childCountOf = getter(element, "childElementCount");
export const shadowRootOf = getter(element, "shadowRoot");
export const attributeOf = method(element, "getAttribute");
export const hasAttribute = method(element, "hasAttribute");
export const isVisible = method(element, "checkVisibility");
export const boxOf = method(element, "getBoundingClientRect");
export const matches = method(element, "matches");
export const queryIn: (of: Element, selector: string) => Element | null = method(element, "querySelector");

const page = Document.prototype;
export const createElement: (of: Document, name: string) => HTMLElement = method(page, "createElement");
export const rootElementOf = getter(page, "documentElement");
export const activeElementOf = getter(page, "activeElement");
export const bodyOf = getter(page, "body");

const contentEditable = getter(HTMLElement.prototype, "isContentEditable");
const tabIndex = getter(HTMLElement.prototype, "tabIndex");
const findInDocument = method(page, "getElementById");
const findInFragment = method(DocumentFragment.prototype, "getElementById");

/** A document is its own. */
export function documentOf(of: Node): Document {
  return ownerDocument(of) ?? (of as Document);
}

export function isEditable(of: Element | null): boolean {
  return of instanceof HTMLElement && contentEditable(of);
}

export function isReachedByKeys(of: Element): boolean {
  return of instanceof HTMLElement && tabIndex(of) >= 0;
}

/** In the document or shadow of an element; null also where an element is in neither. */
export function findBeside(of: Element, id: string): Element | null {
  const root = rootOf(of);
  if (root instanceof Document) return findInDocument(root, id);
  return root instanceof DocumentFragment ? findInFragment(root, id) : null;
}
