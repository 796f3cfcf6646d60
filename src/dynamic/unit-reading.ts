import type { JsonSchemas } from "../catalog/json-schemas.ts";
import { BelljarError } from "../errors.ts";
import { assertNetworkGranted } from "../sandbox/grants.ts";
import { LOCAL, type Principal } from "../sandbox/sandbox.ts";
import type { UnitPackages } from "./packages/unit-packages.ts";
import { type ToolRules, toReadTools } from "./read-tools.ts";
import { runTests, type TestedUnit, type TestReport } from "./run-tests.ts";
import type { UnitRunner } from "./run/unit-runner.ts";
import type { UnitId } from "./store/unit-store.ts";
import type { ChangedUnit, GivenUnit } from "./unit-life.ts";
import type { UnitSpec, UnitVersion } from "./unit.ts";

/** Time to read an edit that nobody takes up. */
const LOOK_MS = 30_000;

export interface UnitReadingOptions {
  readonly runner: UnitRunner;
  readonly packages: UnitPackages;
  readonly schemas: () => Promise<JsonSchemas>;
  /** Whether Belljar itself has a tool of that name. */
  readonly isBuiltin: (name: string) => boolean;
  /** The live unit of the owner that has a tool of that name. */
  readonly unitWith: (owner: string, tool: string) => string | undefined;
  /** Rejects with `LIMIT_UNENFORCEABLE` for limits with which no call could run here. */
  readonly assertLimits?: ((limits: NonNullable<UnitSpec["limits"]>) => Promise<void>) | undefined;
}

/** What was read of a code. */
export type Told = Omit<UnitVersion, "number" | "createdAt">;

export type ReadUnit = GivenUnit & Pick<ChangedUnit, "resolvesAgain">;

/** Reads and tests the code of units, in sandboxes. It keeps nothing. */
export class UnitReading {
  readonly #options: UnitReadingOptions;

  constructor(options: UnitReadingOptions) {
    this.#options = options;
  }

  /** What callers may not publish is read all the same: it is a draft. */
  async read(principal: Principal, { name, spec, resolvesAgain }: ReadUnit, signal: AbortSignal): Promise<Told> {
    const { packages, runner, assertLimits } = this.#options;
    await assertNetworkGranted(spec.network ?? "none", principal);
    if (spec.limits) await assertLimits?.(spec.limits);
    const named = { owner: principal.id, name: name ?? "tool", spec };
    const lock = await packages.lockFor(principal, { ...named, resolvesAgain }, signal);
    const told = await runner.read(principal, { ...named, lock }, signal);
    return { spec, tools: toReadTools(told, await this.#rulesFor(principal, name)), ...(lock && { lock }) };
  }

  /** Rejects as `read`. Packages that would have to be installed first leave it unsaid. */
  async check({ owner, name }: UnitId, spec: UnitSpec): Promise<void> {
    const { packages, runner } = this.#options;
    const principal: Principal = owner === LOCAL.id ? LOCAL : { id: owner, name: owner };
    const signal = AbortSignal.timeout(LOOK_MS);
    const named = { owner, name, spec };
    const lock = await packages.knownLock(principal, named, signal);
    if (lock === "unknown") return;
    toReadTools(await runner.read(principal, { ...named, lock }, signal), await this.#rulesFor(principal, name));
  }

  async test(principal: Principal, unit: TestedUnit, signal: AbortSignal): Promise<readonly TestReport[]> {
    const { runner, schemas } = this.#options;
    return runTests({ runner, schemas: await schemas() }, principal, unit, signal);
  }

  /** Rejects with `TOOL_TESTS_FAILED`, which names each test that fails. */
  async assertTested(principal: Principal, unit: TestedUnit, signal: AbortSignal): Promise<void> {
    const failed = (await this.test(principal, unit, signal)).filter(({ problem }) => problem !== undefined);
    if (failed.length === 0) return;
    const lines = failed.map(({ tool, problem }) => `- ${tool}: ${problem}`);
    throw new BelljarError("TOOL_TESTS_FAILED", [`"${unit.name}" was not published, since tests of it fail:`, ...lines].join("\n"));
  }

  async #rulesFor({ id: owner }: Principal, name: string | undefined): Promise<ToolRules> {
    const { isBuiltin, schemas, unitWith } = this.#options;
    return {
      schemas: await schemas(),
      owner,
      findTaken: (tool) => {
        if (isBuiltin(tool)) return "a built-in tool";
        const unit = unitWith(owner, tool);
        return unit === undefined || unit === name ? undefined : `another tool of yours, "${unit}" (update that one to change it)`;
      },
    };
  }
}
