import { channel } from "node:diagnostics_channel";
import { Readable } from "node:stream";
import type { Route } from "../../src/gateway/routes/route.ts";
import { methodAndPath } from "../../src/gateway/routes/route.ts";

interface Answer {
  readonly route: Route;
  readonly status: number;
  readonly body: unknown;
}

const answers = channel("belljar.answer");
// Test files of one process share the channel.
if (!answers.hasSubscribers) answers.subscribe((answer) => assertAsDescribed(answer as Answer));

/** What is thrown here ends the test run: Node hands it on as an uncaught exception. */
function assertAsDescribed({ route, status, body }: Answer): void {
  // A lease answers one line and stays open.
  if (body instanceof Readable) return;
  const schema = route.answers[status];
  const isAsDescribed = schema ? schema.safeParse(onWire(body)).success : body === undefined;
  if (isAsDescribed) return;
  const problem = schema?.safeParse(onWire(body)).error?.message ?? "it has a body";
  throw new Error(`${methodAndPath(route)} answered ${status} otherwise than its schema says: ${problem}`);
}

function onWire(body: unknown): unknown {
  return typeof body === "string" || body === undefined ? body : JSON.parse(JSON.stringify(body));
}
