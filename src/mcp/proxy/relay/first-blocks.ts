/** Of one answer, far beyond what a model reads. */
const BLOCKS_MAX = 1_000;

/** The blocks of an answer: the first ones, and what `told` makes of a text that says how many more there are. */
export function firstBlocks(blocks: unknown, told: (text: string) => unknown): readonly unknown[] {
  const all: readonly unknown[] = Array.isArray(blocks) ? blocks : [];
  if (all.length <= BLOCKS_MAX) return all;
  const more = `[${all.length - BLOCKS_MAX} more parts of this answer are left out: ${BLOCKS_MAX} are passed on]`;
  return [...all.slice(0, BLOCKS_MAX), told(more)];
}
