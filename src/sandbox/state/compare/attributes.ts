import { BelljarError } from "../../../errors.ts";
import type { StateEntry } from "../../../runtime/contract/state-store.ts";

type Attributed = Pick<StateEntry, "attributes" | "hasUntoldAttributes">;
type Attributes = NonNullable<StateEntry["attributes"]>;

const NONE: Attributes = new Map();

/** Untold ones are never the same. */
export function hasSameAttributes(one: Attributed, other: Attributed): boolean {
  if (one.hasUntoldAttributes || other.hasUntoldAttributes) return false;
  const [a, b] = [one.attributes ?? NONE, other.attributes ?? NONE];
  return a.size === b.size && [...a].every(([name, value]) => b.get(name)?.equals(value));
}

/** Whose attributes a path gets that both sides have. Undefined if both changed them, to different ones. */
export function mergeAttributes<Entry extends Attributed>({
  base,
  ours,
  theirs,
}: {
  readonly base: Attributed;
  readonly ours: Entry;
  readonly theirs: Entry;
}): Entry | undefined {
  if (hasSameAttributes(ours, theirs) || hasSameAttributes(base, theirs)) return ours;
  return hasSameAttributes(base, ours) ? theirs : undefined;
}

/** By their names as texts. Throws `NOT_SUPPORTED` for attributes that cannot be carried. */
export function carriedAttributes({ attributes = NONE, hasUntoldAttributes }: Attributed): Attributes {
  if (hasUntoldAttributes) throw cannotCarry("it has more than 24 KiB of extended attributes");
  return new Map([...attributes].map(([name, value]) => [textOf(name), value]));
}

function textOf(name: string): string {
  const bytes = Buffer.from(name, "latin1");
  const text = bytes.toString();
  if (Buffer.from(text).equals(bytes)) return text;
  throw cannotCarry("it has an extended attribute whose name is no UTF-8");
}

function cannotCarry(what: string): BelljarError {
  return new BelljarError("NOT_SUPPORTED", `${what}: set them by hand, or roll back as a whole`);
}
