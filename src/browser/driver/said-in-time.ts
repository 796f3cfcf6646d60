import { settleWithin } from "../../async/settle-within.ts";

/** What a page says, or undefined if it does not say it in so many milliseconds: a dialog or a script may hold it. */
export async function saidInTime(saying: Promise<string>, timeoutMs: number): Promise<string | undefined> {
  // In an object, as a page may say "late" too.
  const said = await settleWithin(
    saying.then((text) => ({ text })),
    { timeoutMs },
  );
  return said === "late" ? undefined : said.text;
}
