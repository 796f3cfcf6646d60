import { Slices } from "../../../async/slices.ts";
import { isNestedTooDeep } from "../../../catalog/nesting.ts";
import { countValues, hasMoreValues } from "../../../catalog/value-count.ts";
import { isRecord } from "../../client/config/is-record.ts";
import { TOKEN_BYTES } from "../../../files/json-tokens.ts";
import { canonical, digestOf, digestText } from "../../../files/canonical.ts";

/** What of a definition is shown in lines. Each level indents what is in it. */
const SHOWN_LEVELS_MAX = 64;
const SHOWN_MAX = 512 * 1_024;
export const TOO_LARGE = "(This definition is too large, or nested too deep, to be shown.)";

/** What a server lists, by the names of the lists. A list holds records; another value, such as the instructions, stands for itself. */
export type Lists = Readonly<Record<string, unknown>>;

/** A digest for each definition, by `<list>/<name>`. */
export type Digests = Readonly<Record<string, string>>;

/** What callers are shown. */
export interface ShownLists {
  readonly lists: Lists;
  /** `<list>/<name>` of what must not be used until somebody has approved it. */
  readonly blocked: ReadonlySet<string>;
}

/** One definition that is not as it was approved. */
export interface PinChange {
  readonly list: string;
  /** As the server names it. */
  readonly name: string;
  readonly kind: "added" | "changed" | "removed";
}

/** A change, with both sides in lines. */
export interface ToldChange extends PinChange {
  readonly before?: string | undefined;
  readonly after?: string | undefined;
}

/** By which key of a definition each list is used. */
const NAMES = { tools: "name", prompts: "name", resources: "uri", templates: "uriTemplate" } as const;

/** In slices: a server may list very much. The order of keys means nothing. `size`: of all definitions, in memory. */
export async function digestItems(lists: Lists): Promise<{ readonly digests: Digests; readonly size: number }> {
  const slices = new Slices();
  const digests: [string, string][] = [];
  let size = 0;
  for (const [list, value] of Object.entries(lists))
    for (const item of toItems(value)) {
      const text = canonical(item);
      size += text.length + countValues(item) * TOKEN_BYTES;
      digests.push([`${list}/${nameOf(list, item)}`, digestText(text)]);
      await slices.next();
    }
  return { digests: Object.fromEntries(digests), size };
}

export function changesBetween(pinned: Digests, last: Digests): readonly PinChange[] {
  const of = (key: string, kind: PinChange["kind"]): PinChange => {
    const at = key.indexOf("/");
    return { list: key.slice(0, at), name: key.slice(at + 1), kind };
  };
  const others = Object.entries(last).flatMap(([key, digest]) => {
    const before = Object.hasOwn(pinned, key) ? pinned[key] : undefined;
    return before === digest ? [] : [of(key, before === undefined ? "added" : "changed")];
  });
  return [...others, ...Object.keys(pinned).flatMap((key) => (Object.hasOwn(last, key) ? [] : [of(key, "removed")]))];
}

/** The definitions as they were approved. A changed one is blocked; a new one is not shown, since its text is what nobody has read. */
export function approvedLists(pinned: Lists, last: Lists, changes: readonly PinChange[]): ShownLists {
  const blocked = new Set(changes.flatMap(({ list, name, kind }) => (kind === "changed" ? [`${list}/${name}`] : [])));
  const hidden = new Set(changes.flatMap(({ list, name, kind }) => (kind === "removed" ? [`${list}/${name}`] : [])));
  const shown = Object.entries(last).map(([list, value]): readonly [string, unknown] => {
    if (!Array.isArray(value)) return [list, pinned[list]];
    return [list, toItems(pinned[list]).filter((item) => !hidden.has(`${list}/${nameOf(list, item)}`))];
  });
  return { lists: Object.fromEntries(shown), blocked };
}

/** A definition as a person reads it, in lines; undefined if the list has none of that name. */
export function describeItem(lists: Lists | undefined, { list, name }: Pick<PinChange, "list" | "name">): string | undefined {
  const item = toItems(lists?.[list]).find((one) => nameOf(list, one) === name);
  if (item === undefined) return undefined;
  if (typeof item === "string") return item;
  // What was kept before definitions had a bound has none.
  if (hasMoreValues(item) || isNestedTooDeep(item, SHOWN_LEVELS_MAX)) return TOO_LARGE;
  const text = canonical(item);
  return text.length > SHOWN_MAX ? TOO_LARGE : JSON.stringify(JSON.parse(text), null, 2);
}

function toItems(value: unknown): readonly unknown[] {
  if (value === undefined) return [];
  return Array.isArray(value) ? value : [value];
}

/** As the requests name it that use it. Anything else of a definition is the server's to choose, and tells none from another. */
function nameOf(list: string, value: unknown): string {
  if (!isRecord(value)) return "";
  const name = Object.hasOwn(NAMES, list) ? value[NAMES[list as keyof typeof NAMES]] : undefined;
  return typeof name === "string" ? name : digestOf(value);
}
