import { isProxy } from "node:util/types";

const MAX_DEPTH = 64;
const MAX_NODES = 100_000;
const MAX_CHARACTERS = 1024 * 1024;

/** Arrays and objects of JSON's own values, to a bound: what reads the same after a way through JSON. */
export function isPlainData(root: unknown): boolean {
  if (typeof root !== "object" || root === null) return false;
  const stack: { readonly value: unknown; readonly depth: number }[] = [{ value: root, depth: 0 }];
  let characters = 0;
  for (let nodes = 0, item = stack.pop(); item; item = stack.pop(), nodes++) {
    const { value, depth } = item;
    const inner = innerOf(value);
    if (!inner || depth > MAX_DEPTH || nodes + stack.length + inner.values.length > MAX_NODES) return false;
    characters += inner.characters;
    if (characters > MAX_CHARACTERS) return false;
    for (const child of inner.values) stack.push({ value: child, depth: depth + 1 });
  }
  return true;
}

interface Inner {
  readonly values: readonly unknown[];
  readonly characters: number;
}

/** The values within, or nothing for what is not plain. No code of the value's author is called. */
function innerOf(value: unknown): Inner | undefined {
  if (typeof value === "string") return { values: [], characters: value.length + 2 };
  if (value === null || typeof value === "boolean" || (typeof value === "number" && Number.isFinite(value)))
    return { values: [], characters: 24 };
  if (typeof value !== "object" || isProxy(value)) return undefined;
  if (Array.isArray(value)) return value.length <= MAX_NODES ? fieldsOf(value, value.length + 1) : undefined;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null ? fieldsOf(value) : undefined;
}

/** An array has a field `length` too, and no holes. */
function fieldsOf(value: object, count?: number): Inner | undefined {
  const names = Reflect.ownKeys(value);
  if (names.length > MAX_NODES || (count !== undefined && names.length !== count)) return undefined;
  const values: unknown[] = [];
  let characters = 2;
  for (const name of names) {
    const field = Object.getOwnPropertyDescriptor(value, name);
    if (typeof name === "symbol" || !field || !("value" in field)) return undefined;
    if (count !== undefined && name === "length") continue;
    characters += count === undefined ? name.length + 4 : 1;
    values.push(field.value);
  }
  return { values, characters };
}
