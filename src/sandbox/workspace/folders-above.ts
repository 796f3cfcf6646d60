import { parentKey } from "./entry.ts";

/** The folders above any of these paths, but for the root. Each is looked at once, however many lie below it. */
export function foldersAbove(keys: Iterable<string>): ReadonlySet<string> {
  const found = new Set<string>();
  for (const key of keys)
    for (let folder = parentKey(key); folder !== "" && !found.has(folder); folder = parentKey(folder)) found.add(folder);
  return found;
}

/** Answers what `own` says of the topmost folder above a path of which it says anything. `own` is asked once of each folder. */
export function fromAbove<Answer extends string | true>(own: (folder: string) => Answer | undefined): (key: string) => Answer | undefined {
  const known = new Map<string, Answer | undefined>();
  const answerOf = (folder: string): Answer | undefined => {
    if (folder === "" || known.has(folder)) return known.get(folder);
    const answer = answerOf(parentKey(folder)) ?? own(folder);
    known.set(folder, answer);
    return answer;
  };
  return (key) => answerOf(parentKey(key));
}
