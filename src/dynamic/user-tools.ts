import { OwnedWork } from "../async/owned-work.ts";
import type { JsonSchemas } from "../catalog/json-schemas.ts";
import type { ToolSource } from "../catalog/tool-source.ts";
import { BelljarError } from "../errors.ts";
import { LOCAL, type Principal } from "../sandbox/sandbox.ts";
import { EditLook } from "./edit-look.ts";
import { type Edits, FileEdits } from "./file-edits.ts";
import { folderEdits } from "./folder-edits.ts";
import { KnownUnits } from "./known-units.ts";
import { LiveUnits } from "./live-units.ts";
import { assertMayPublish, assertMayShare, mayPublish } from "./rights.ts";
import type { PreparedPackages } from "../packages/prepared-packages.ts";
import { UnitPackages } from "./packages/unit-packages.ts";
import type { UnitRunner } from "./run/unit-runner.ts";
import type { FolderOfTools } from "./store/folder-of-tools.ts";
import { withChanges } from "./spec-changes.ts";
import { isSameSpec } from "./store/manifest.ts";
import type { EditableStore, UnitId, UnitStore } from "./store/unit-store.ts";
import { type LeftTools, takeOver } from "./take-over.ts";
import { newestOf, shownVersion, toDetail, toInfo, toShownProblem, type UnitFacts } from "./unit-info.ts";
import type { ChangedUnit, GivenUnit, KeepOptions, NamedUnit, TestOptions, UnitLife, UnitListOptions } from "./unit-life.ts";
import { UNITS_MAX } from "./unit-life.ts";
import { assertNotInFolder, tellLeftFiles } from "./unit-places.ts";
import { readUnitPage } from "./unit-pages.ts";
import { type Told, UnitReading, type UnitReadingOptions } from "./unit-reading.ts";
import { assertUnitName, nameTaken } from "./unit-name.ts";
import { UnitStatistics } from "./unit-statistics.ts";
import type { UnitHead, UnitSpec, UnitVersion } from "./unit.ts";
import { closed, toHead } from "./version-head.ts";
import type { Tested, UnitDetail, UnitInfo, UnitPage } from "./wire/unit-schema.ts";

/** What the names of the snapshots with packages of tools begin with. */
export const TOOL_PACKAGES = "packages-";
/** Older ones are forgotten, but for the live one. */
const VERSIONS_MAX = 20;

export interface UserToolsOptions {
  readonly store: UnitStore;
  /** Where a person edits units by hand; `followEdits` takes up what changes there. */
  readonly edits?: Edits & Pick<EditableStore, "placeOf">;
  /** A folder of the local user's with tools, which is only read. */
  readonly folder?: FolderOfTools;
  /** Tools of MCP Box in the same store, which a process that serves takes over. */
  readonly left?: LeftTools;
  readonly runner: UnitRunner;
  readonly packages: PreparedPackages;
  /** Called with the first unit: most homes have none. */
  readonly schemas: () => Promise<JsonSchemas>;
  /** Whether Belljar itself has a tool of that name. */
  readonly isBuiltin: (name: string) => boolean;
  /** Absent: this host is not asked which limits it can enforce. */
  readonly assertLimits?: UnitReadingOptions["assertLimits"];
  readonly listMax: number;
  readonly report: (problem: string) => void;
}

/** Units in a store, and what callers have of them. Nothing of a unit's code runs outside a sandbox. */
export class UserTools implements UnitLife, AsyncDisposable {
  readonly #options: UserToolsOptions;
  readonly #statistics = new UnitStatistics();
  readonly #live: LiveUnits;
  readonly #packages: UnitPackages;
  readonly #reading: UnitReading;
  readonly #units: KnownUnits;
  readonly #background = new OwnedWork();
  readonly #look: EditLook;
  #edits: FileEdits | undefined;

  private constructor(options: UserToolsOptions) {
    this.#options = options;
    const { runner, packages: prepared, store, schemas, listMax, report } = options;
    this.#live = new LiveUnits({ runner, statistics: this.#statistics, listMax, report });
    this.#packages = new UnitPackages({ prepared, runner, store, heads: () => this.#units.heads(), report });
    const unitWith = (owner: string, tool: string): string | undefined => this.#live.unitWith(owner, tool);
    this.#reading = new UnitReading({ ...options, packages: this.#packages, unitWith });
    const changed = (before: UnitHead | undefined): void => this.#packages.noteChange(before);
    this.#units = new KnownUnits({ store, live: this.#live, schemas, changed, report });
    this.#look = new EditLook({ places: this.#places(), check: (unit, spec) => this.#reading.check(unit, spec) });
  }

  /** Reads all live units. A change that another process makes afterwards is seen. If it rejects, all that it was given is closed. */
  static async open(options: UserToolsOptions): Promise<UserTools> {
    const tools = new UserTools(options);
    try {
      await tools.#units.readAll();
    } catch (cause) {
      await tools[Symbol.asyncDispose]();
      throw cause;
    }
    return tools;
  }

  /**
   * From now on what a person edits by hand becomes versions, and what MCP Box has left is taken over in the background. For a process that
   * serves.
   */
  followEdits(): void {
    const { left, report } = this.#options;
    const never = new AbortController().signal;
    if (left) void this.#background.run(never, (signal) => takeOver({ left, life: this, report }, signal));
    this.#edits ??= new FileEdits({ places: this.#places(), life: this, isKnown: (unit) => this.#units.get(unit) !== undefined, report });
  }

  /** Runs a program of the principal's own. */
  readonly runScript: UnitRunner["script"] = (principal, script) => this.#options.runner.script(principal, script);

  #places(): readonly Edits[] {
    const { edits, folder } = this.#options;
    const newestSpec = (name: string) => this.#newestSpec(name);
    return [...(edits ? [edits] : []), ...(folder ? [folderEdits({ folder, owner: LOCAL.id, newestSpec })] : [])];
  }

  async #newestSpec(name: string): Promise<UnitSpec | undefined> {
    const head = this.#units.get({ owner: LOCAL.id, name });
    return head && (await this.#units.version(head, newestOf(head)?.number ?? 0)).spec;
  }

  /** For the catalog. */
  get source(): ToolSource {
    return this.#live;
  }

  async list(principal: Principal, options: UnitListOptions = {}): Promise<UnitPage> {
    const { id: owner } = principal;
    const isFirst = options.cursor === undefined;
    if (isFirst) this.#edits?.tryAgain(owner);
    const problems = this.#edits ? this.#edits.problems(owner) : await this.#look.problems(owner, isFirst);
    const page = await readUnitPage(this.#units.of(principal), options, (head) => this.#infoOf(head, problems.get(head.name)));
    const unread = isFirst ? [...problems].filter(([name]) => !this.#units.get({ owner, name })) : [];
    const shown = unread.map(([name, problem]) => ({ name, ...toShownProblem(problem) }));
    return { ...page, ...(shown.length > 0 && { problems: shown }) };
  }

  async get(principal: Principal, name: string, number?: number): Promise<UnitDetail> {
    const head = this.#units.find(principal, name);
    const version = await this.#units.version(head, number ?? shownVersion(head));
    this.#edits?.tryAgain(principal.id);
    return toDetail(head, version, this.#factsOf(head, await (this.#edits ?? this.#look).problemOf(head)));
  }

  add(principal: Principal, given: GivenUnit, signal: AbortSignal, options: KeepOptions = {}): Promise<UnitInfo> {
    return this.#packages.during(() => this.#add(principal, given, signal, options));
  }

  // eslint-disable-next-line max-params -- the contract's
  async #add(principal: Principal, given: GivenUnit, signal: AbortSignal, { publish = false }: KeepOptions): Promise<UnitInfo> {
    if (publish) assertMayPublish(principal);
    this.#assertRoom(principal);
    if (given.name !== undefined) assertUnitName(given.name);
    const told = await this.#reading.read(principal, given, signal);
    const name = given.name ?? told.tools[0]?.name ?? "";
    assertUnitName(name);
    const id = { owner: principal.id, name };
    if (this.#units.get(id)) throw nameTaken(name);
    const none: UnitHead = { ...id, revision: 0, versions: [], isDisabled: false, isShared: false };
    return this.#keep(principal, none, told, { publish, signal }).catch((cause: unknown) => {
      throw cause instanceof BelljarError && cause.code === "TOOL_CONFLICT" ? nameTaken(name, cause) : cause;
    });
  }

  // eslint-disable-next-line max-params -- the contract's
  async update(
    principal: Principal,
    given: NamedUnit | ChangedUnit,
    signal: AbortSignal,
    { publish = false }: KeepOptions = {},
  ): Promise<UnitInfo> {
    if (publish) assertMayPublish(principal);
    const head = this.#units.find(principal, given.name);
    if (!("changes" in given))
      return this.#packages.during(async () =>
        this.#keep(principal, head, await this.#reading.read(principal, given, signal), { publish, signal }),
      );
    const { changes, name, resolvesAgain = false } = given;
    const newest = await this.#units.version(head, newestOf(head)?.number ?? 0);
    const spec = withChanges(newest.spec, changes);
    return this.#packages.during(async () => {
      const told = await this.#reading.read(principal, { name, spec, resolvesAgain }, signal);
      const isSame = resolvesAgain && told.lock?.key === newest.lock?.key && isSameSpec(spec, newest.spec);
      if (isSame && (!publish || (head.live === newest.number && !head.isDisabled))) return this.#infoOf(head);
      return this.#keep(principal, head, told, { publish, signal });
    });
  }

  async test(principal: Principal, name: string, signal: AbortSignal, { number, isClosed = false }: TestOptions = {}): Promise<Tested> {
    const head = this.#units.find(principal, name);
    const version = await this.#units.version(head, number ?? newestOf(head)?.number ?? 0);
    const spec = isClosed || !mayPublish(principal) ? closed(version.spec) : version.spec;
    const tests = await this.#reading.test(principal, { owner: head.owner, name, ...version, spec }, signal);
    const isTested = tests.every(({ problem }) => problem === undefined);
    // What has been live was tested with all that it reaches.
    const versions = head.versions.map((one) => (one.number === version.number && !one.wasLive ? { ...one, isTested } : one));
    const changed = await this.#units.change({ ...head, versions });
    return { unit: await this.#infoOf(changed), tests };
  }

  async publish(principal: Principal, name: string, signal: AbortSignal, number?: number): Promise<UnitInfo> {
    assertMayPublish(principal);
    const head = this.#units.find(principal, name);
    const version = await this.#units.version(head, number ?? newestOf(head)?.number ?? 0);
    this.#assertMayGive(principal, head, version);
    await this.#reading.assertTested(principal, { owner: principal.id, name, ...version }, signal);
    const check = this.#freeFor(head, version);
    const versions = head.versions.map((one) => (one.number === version.number ? { ...one, isTested: true, wasLive: true } : one));
    return this.#infoOf(await this.#units.change({ ...head, versions, live: version.number, isDisabled: false }, { check, signal }));
  }

  async rollback(principal: Principal, name: string, number: number): Promise<UnitInfo> {
    assertMayPublish(principal);
    const head = this.#units.find(principal, name);
    if (!head.versions.some((one) => one.number === number && one.wasLive))
      throw new BelljarError("TOOL_NOT_FOUND", `"${name}" has no version ${number} that was live: see its versions`);
    const version = await this.#units.version(head, number);
    this.#assertMayGive(principal, head, version);
    const check = this.#freeFor(head, version);
    return this.#infoOf(await this.#units.change({ ...head, live: number, isDisabled: false }, { check }));
  }

  async setDisabled(principal: Principal, name: string, isDisabled: boolean): Promise<UnitInfo> {
    assertMayPublish(principal);
    const head = this.#units.find(principal, name);
    const live = isDisabled || head.live === undefined ? undefined : await this.#units.version(head, head.live);
    return this.#infoOf(await this.#units.change({ ...head, isDisabled }, { ...(live && { check: this.#freeFor(head, live) }) }));
  }

  async share(principal: Principal, name: string, isShared: boolean): Promise<UnitInfo> {
    const head = this.#units.find(principal, name);
    const version = await this.#units.version(head, shownVersion(head));
    assertMayShare(principal, isShared ? version.spec : {});
    return this.#infoOf(await this.#units.change({ ...head, isShared }));
  }

  async remove(principal: Principal, name: string): Promise<void> {
    const head = this.#units.find(principal, name);
    // A draft that nobody ever had is its maker's to throw away.
    if (head.versions.some(({ wasLive }) => wasLive)) assertMayPublish(principal);
    const { folder, edits, report } = this.#options;
    assertNotInFolder(folder, head);
    await this.#packages.during(() => this.#units.remove(head));
    this.#statistics.forget(head);
    const left = edits && (await tellLeftFiles(edits, head));
    if (left !== undefined) report(left);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#background[Symbol.asyncDispose]();
    await this.#edits?.[Symbol.asyncDispose]();
    this.#options.folder?.[Symbol.dispose]();
    await this.#units[Symbol.asyncDispose]();
    await this.#options.runner[Symbol.asyncDispose]();
    await this.#options.packages[Symbol.asyncDispose]();
    await this.#options.store[Symbol.asyncDispose]();
  }

  /** Adds a version, which is live at once if it is to be published and its tests pass. One write keeps all of it, or nothing. */
  // eslint-disable-next-line max-params -- the parts of one write
  async #keep(
    principal: Principal,
    head: UnitHead,
    told: Told,
    { publish, signal }: { readonly publish: boolean; readonly signal: AbortSignal },
  ): Promise<UnitInfo> {
    const version: UnitVersion = { number: (newestOf(head)?.number ?? 0) + 1, ...told, createdAt: new Date() };
    if (publish) this.#assertMayGive(principal, head, version);
    if (publish) await this.#reading.assertTested(principal, { owner: principal.id, name: head.name, ...version }, signal);
    const versions = [...head.versions, toHead(version, publish)];
    const kept = versions.filter(({ number }, index) => index >= versions.length - VERSIONS_MAX || number === head.live);
    const changed = await this.#units.change(
      { ...head, versions: kept, ...(publish && { live: version.number, isDisabled: false }) },
      { added: version, signal, ...(publish && { check: this.#freeFor(head, version) }) },
    );
    return this.#infoOf(changed);
  }

  /** Callers of everybody have what goes live in a shared unit. */
  // eslint-disable-next-line max-params -- who gives what
  #assertMayGive(principal: Principal, { isShared }: UnitHead, { spec }: UnitVersion): void {
    if (isShared) assertMayShare(principal, spec);
  }

  #assertRoom(principal: Principal): void {
    if (this.#units.of(principal).length >= UNITS_MAX)
      throw new BelljarError("QUOTA_EXCEEDED", `You have ${UNITS_MAX} tools already: remove some`);
  }

  /** Throws if another live unit of the owner has a tool of the same name. */
  #freeFor({ owner, name: unit }: UnitId, { tools }: UnitVersion): () => void {
    return () => {
      const other = tools.flatMap(({ name }) => this.#live.unitWith(owner, name) ?? []).find((one) => one !== unit);
      if (other !== undefined) throw new BelljarError("TOOL_NAME_TAKEN", `"${other}" has a tool of the same name: rename one of the two`);
    };
  }

  async #infoOf(head: UnitHead, problem = this.#edits?.problemOf(head)): Promise<UnitInfo> {
    const shown = this.#units.shown(head) ?? (await this.#units.version(head, shownVersion(head)));
    return toInfo(head, shown, this.#factsOf(head, problem));
  }

  #factsOf(unit: UnitId, problem = this.#edits?.problemOf(unit)): UnitFacts {
    return { counts: this.#statistics.of(unit), since: this.#statistics.since, problem };
  }
}
