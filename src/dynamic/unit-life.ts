import { BelljarError } from "../errors.ts";
import type { Principal } from "../sandbox/sandbox.ts";
import type { SpecChanges } from "./spec-changes.ts";
import type { UnitSpec } from "./unit.ts";
import type { Tested, UnitDetail, UnitInfo, UnitPage } from "./wire/unit-schema.ts";

/** The most that one owner has. */
export const UNITS_MAX = 2_000;

/** What an author gives. Without a name the unit is called as its first tool. */
export interface GivenUnit {
  readonly name?: string | undefined;
  readonly spec: UnitSpec;
}

export interface NamedUnit extends GivenUnit {
  readonly name: string;
}

/** A version that is as the newest one but for these changes. */
export interface ChangedUnit {
  readonly name: string;
  readonly changes: SpecChanges;
  /** Its packages are the newest that fit. If they are the ones that it has and nothing else changes, there is no new version. */
  readonly resolvesAgain?: boolean;
}

export interface KeepOptions {
  /** Gives it to callers at once. If a test fails, rejects with `TOOL_TESTS_FAILED` and keeps nothing. Default: it is a draft. */
  readonly publish?: boolean;
}

export interface UnitListOptions {
  /** `nextCursor` of the page before. */
  readonly cursor?: string | undefined;
  /** Never more than a page takes. */
  readonly limit?: number | undefined;
}

export interface TestOptions {
  /** Default: the newest version. */
  readonly number?: number | undefined;
  /** The code reaches no network and no secret: nobody has agreed to it yet. So it is in any case for who may not publish. */
  readonly isClosed?: boolean;
}

/**
 * The life of users' tools: draft, tested, live. Units are their owner's: one of somebody else answers as one that is not there
 * (`TOOL_NOT_FOUND`). Each change is compared and swapped, and rejects with `TOOL_CONFLICT` if another one came between. What gives or
 * takes tools rejects with `FORBIDDEN` for callers without the right.
 */
export interface UnitLife {
  /** One page, in the order of the names. Rejects with `ARGUMENTS_INVALID` for a cursor that no page gave. */
  list(principal: Principal, options?: UnitListOptions): Promise<UnitPage>;
  /** Of the version that callers have, or of that one. */
  get(principal: Principal, name: string, number?: number): Promise<UnitDetail>;
  /**
   * Reads the code in a sandbox, and keeps it as a new unit. Rejects with `TOOL_INVALID`, with the line and the
   * reason, and with `TOOL_NAME_TAKEN`. Then nothing is kept.
   */
  add(principal: Principal, given: GivenUnit, signal: AbortSignal, options?: KeepOptions): Promise<UnitInfo>;
  /** Keeps the whole unit, or the newest version with changes, as the newest version; as `add`. Callers have the live one until it is published. */
  update(principal: Principal, given: NamedUnit | ChangedUnit, signal: AbortSignal, options?: KeepOptions): Promise<UnitInfo>;
  /** Runs the tests of the newest version, or of that one. */
  test(principal: Principal, name: string, signal: AbortSignal, options?: TestOptions): Promise<Tested>;
  /** Gives callers the newest version, or that one. Its tests run before, and one that fails rejects with `TOOL_TESTS_FAILED`. */
  publish(principal: Principal, name: string, signal: AbortSignal, number?: number): Promise<UnitInfo>;
  /** Gives callers an earlier version again, whose tests have passed then. */
  rollback(principal: Principal, name: string, number: number): Promise<UnitInfo>;
  setDisabled(principal: Principal, name: string, isDisabled: boolean): Promise<UnitInfo>;
  /** Gives its live tools to every principal, or to its owner alone. */
  share(principal: Principal, name: string, isShared: boolean): Promise<UnitInfo>;
  remove(principal: Principal, name: string): Promise<void>;
}

/** Stands for users' tools where no home is that could have some. */
export async function noUserTools(): Promise<never> {
  throw new BelljarError("NOT_SUPPORTED", "This server keeps no users' tools");
}
