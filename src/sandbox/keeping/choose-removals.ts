import type { KeptEntry } from "./kept-index.ts";

/** How long stopped sandboxes are kept, and how much room they may take together. An absent one is no limit. */
export interface KeepLimits {
  /** In milliseconds. */
  readonly keep?: number;
  readonly keepBytes?: number;
  readonly keepMemoryBytes?: number;
}

export interface Removal {
  readonly entry: KeptEntry;
  readonly because: "expired" | "no_room";
}

/**
 * Which stopped sandboxes are removed unasked: those whose time is over, and then the oldest ones until the others fit. One that somebody
 * stopped by a call is never removed, and takes no room from the others.
 */
export function chooseRemovals(entries: Iterable<KeptEntry>, limits: KeepLimits & { readonly now: number }): readonly Removal[] {
  const unasked = [...entries].filter(({ isAsked }) => !isAsked).toSorted((one, other) => other.stoppedMs - one.stoppedMs);
  const { keep = Number.POSITIVE_INFINITY, keepBytes, keepMemoryBytes, now } = limits;
  const isOver = ({ stoppedMs }: KeptEntry): boolean => stoppedMs + keep <= now;
  const over = unasked.filter(isOver).map((entry) => ({ entry, because: "expired" }) as const);
  const rest = unasked.filter((entry) => !isOver(entry));
  const disk = rest.filter(({ isInMemory }) => !isInMemory);
  const memory = rest.filter(({ isInMemory }) => isInMemory);
  const without = [...beyond(disk, keepBytes), ...beyond(memory, keepMemoryBytes)].map((entry) => ({ entry, because: "no_room" }) as const);
  return [...over, ...without].toSorted((one, other) => one.entry.stoppedMs - other.entry.stoppedMs);
}

/** What is too large by itself costs no other one its place. */
function beyond(newestFirst: readonly KeptEntry[], most = Number.POSITIVE_INFINITY): readonly KeptEntry[] {
  const fitting = newestFirst.filter(({ bytes }) => bytes <= most);
  let held = 0;
  const first = fitting.findIndex(({ bytes }) => (held += bytes) > most);
  return [...newestFirst.filter(({ bytes }) => bytes > most), ...(first < 0 ? [] : fitting.slice(first))];
}
