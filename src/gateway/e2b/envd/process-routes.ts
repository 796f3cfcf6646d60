import type { Sandbox } from "../../../sandbox/sandbox.ts";
import type { Route } from "../../routes/route.ts";
import type { SandboxAdmission } from "../admit-sandbox.ts";
import type { E2b } from "../e2b.ts";
import { processCalls } from "./process/process-calls.ts";
import { processStreams } from "./process/process-streams.ts";
import type { ProcessTables } from "./process/process-tables.ts";

/** Processes of clients, by Connect. */
export function processRoutes({ log }: Pick<E2b, "log">, admission: SandboxAdmission, tables: ProcessTables): readonly Route[] {
  const sandboxOf = (request: object): Sandbox => admission.of(request);
  const place = { sandboxOf, tableOf: (request: object) => tables.of(sandboxOf(request)), log };
  return [...processStreams(place), ...processCalls(place)];
}
