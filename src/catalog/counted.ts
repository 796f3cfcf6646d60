import { randomUUID } from "node:crypto";
import type { Audit } from "../audit/audit.ts";
import { BelljarError } from "../errors.ts";
import type { Principal } from "../sandbox/sandbox.ts";
import type { Quota } from "./policy.ts";

export interface CountedParts {
  readonly quota: Quota;
  readonly audit: Audit;
}

interface Asked {
  readonly principal: Principal;
  /** Under which it stands in the audit, in the place of a tool. */
  readonly method: string;
  readonly args: unknown;
}

/** Does what is no call of a tool, and counts as one: counted by the quota, and recorded with its end. */
export async function counted<Answer>({ quota, audit }: CountedParts, asked: Asked, work: () => Promise<Answer>): Promise<Answer> {
  const { principal, method: tool, args } = asked;
  const startedAt = performance.now();
  const record = (outcome: string, resultBytes: number): void => {
    const durationMs = performance.now() - startedAt;
    audit.record({ requestId: randomUUID(), principal: principal.id, tool, arguments: args, outcome, resultBytes, durationMs });
  };
  try {
    using place = await quota.enter(principal);
    audit.assertWritable();
    const answer = await work();
    const bytes = Buffer.byteLength(JSON.stringify(answer));
    place.count(bytes);
    record("ok", bytes);
    return answer;
  } catch (error) {
    record(error instanceof BelljarError ? error.code : "INTERNAL", 0);
    throw error;
  } finally {
    await audit.written();
  }
}
