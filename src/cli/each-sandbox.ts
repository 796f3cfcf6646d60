import { mapLimit } from "../async/map-limit.ts";
import { BelljarError } from "../errors.ts";
import { listAll } from "../sandbox/list-sandboxes.ts";
import { LIVE_STATES, LOCAL } from "../sandbox/sandbox.ts";
import type { Sandbox, Sandboxes } from "../sandbox/sandbox.ts";
import type { CommandCall, CommandContext } from "./command.ts";
import { isSet } from "./command.ts";
import { openStack } from "./compose/open-stack.ts";
import { printJson, printLine } from "./print.ts";
import { withProgress } from "./progress.ts";
import { reportFailure } from "./report-failure.ts";
import { usage } from "./usage.ts";

const TOGETHER = 8;

export interface EachWork {
  /** What is said while it takes long, before the id. */
  readonly doing: string;
  /** The name of the list of ids in the JSON. */
  readonly done: string;
  readonly work: (sandbox: Sandbox, signal: AbortSignal) => Promise<unknown>;
}

/**
 * Does something with each of the sandboxes that the command names, or with `--all` with all that live, and prints their ids. One that
 * fails holds none of the others up: it is told, and the exit code is 1. A sandbox that is named twice is taken once.
 */
export async function eachSandbox(call: CommandCall, context: CommandContext, { doing, done, work }: EachWork): Promise<number> {
  const { stdout, stderr, signal } = context;
  const isJson = isSet(call, "json");
  await using stack = await openStack(call, context);
  const ids: string[] = [];
  let code = 0;
  const named = await targets(call, stack.sandboxes);
  await mapLimit(named, TOGETHER, async (name) => {
    try {
      const sandbox = await stack.sandboxes.get(LOCAL, name);
      await withProgress(stderr, `${doing} ${sandbox.id}`, work(sandbox, signal));
      ids.push(sandbox.id);
      if (!isJson) printLine(stdout, sandbox.id);
    } catch (error) {
      if (!(error instanceof BelljarError) || signal.aborted) throw error;
      code = reportFailure(error, { stderr, debug: isSet(call, "debug"), failureCode: 1 });
    }
  });
  if (isJson) printJson(stdout, { [done]: ids });
  return code;
}

/** A name and an id may mean one sandbox. A word that means none stays as it is, for the error that tells of it. */
async function toIds(words: readonly string[], sandboxes: Pick<Sandboxes, "info">): Promise<readonly string[]> {
  const ids = await mapLimit(words, TOGETHER, (word) =>
    sandboxes.info(LOCAL, word).then(
      ({ id }) => id,
      () => word,
    ),
  );
  return [...new Set(ids)];
}

async function targets(call: CommandCall, sandboxes: Sandboxes): Promise<readonly string[]> {
  const { positionals, spec } = call;
  const help = `belljar ${spec.name} --help`;
  if (!isSet(call, "all")) {
    if (positionals.length === 0) throw usage(`Which one? belljar ${spec.name} ${spec.usage}`, help);
    return new Set(positionals).size < 2 ? positionals.slice(0, 1) : toIds(positionals, sandboxes);
  }
  if (positionals.length > 0) throw usage("--all and an ID exclude one another", help);
  const ids: string[] = [];
  for await (const { id } of listAll(sandboxes, LOCAL, { state: LIVE_STATES })) ids.push(id);
  return ids;
}
