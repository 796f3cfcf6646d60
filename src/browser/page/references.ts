/** What a caller may call an element by: `e12`. It belongs to that element as long as the document lives, and to no other one. */
export class References {
  readonly #refs = new WeakMap<Element, string>();
  readonly #elements = new Map<string, WeakRef<Element>>();
  /** The number of the next one: the driver gives it, so that all frames of a tab count together. */
  next = 1;

  of(element: Element): string {
    const known = this.#refs.get(element);
    if (known !== undefined) return known;
    const ref = `e${this.next}`;
    this.next += 1;
    this.#refs.set(element, ref);
    this.#elements.set(ref, new WeakRef(element));
    return ref;
  }

  /** Undefined for an element that is no longer in the document. */
  find(ref: string): Element | undefined {
    const element = this.#elements.get(ref)?.deref();
    if (element?.isConnected === true) return element;
    this.#elements.delete(ref);
    return undefined;
  }
}
