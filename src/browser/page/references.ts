import { isConnected } from "./dom.ts";

/** What a caller may call an element by: `e12`. It belongs to that element as long as the document lives, and to no other one. */
export class References {
  readonly #refs = new WeakMap<Element, string>();
  readonly #elements = new Map<string, WeakRef<Element>>();
  /** A page that makes new elements all the time fills no memory. */
  readonly #gone = new FinalizationRegistry<string>((ref) => this.#elements.delete(ref));
  /** The number of the next one: the driver gives it, so that all frames of a tab count together. */
  next = 1;

  of(element: Element): string {
    const known = this.#refs.get(element);
    if (known !== undefined) return known;
    const ref = `e${this.next}`;
    this.next += 1;
    this.#refs.set(element, ref);
    this.#elements.set(ref, new WeakRef(element));
    this.#gone.register(element, ref);
    return ref;
  }

  /** Undefined for an element that is not in the document now: it may come back, with the same reference. */
  find(ref: string): Element | undefined {
    const element = this.#elements.get(ref)?.deref();
    return element && isConnected(element) ? element : undefined;
  }
}
