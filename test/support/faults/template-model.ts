import { deepEqual, ok } from "node:assert/strict";
import type { Outcome, SeenTemplate } from "./fault-worker.ts";
import type { TemplateOperation } from "./operation.ts";

/** An image, and what files of it hold: the last one of each layer's archive. Of all images the same files are named, if only as empty texts. */
export interface FaultImage {
  readonly path: string;
  /** Of what is built: a name. */
  readonly digest: string;
  /** It is built from this. */
  readonly dockerfile?: string;
  readonly texts: Readonly<Record<string, string>>;
}

/**
 * What must be true of the templates of a home whatever was killed. An operation that was acknowledged has happened. One that was not has
 * happened, or has not: a template then is as it was before, or as it was to be, and always whole.
 */
export class TemplateModel {
  readonly #images: readonly FaultImage[];
  readonly #names: readonly string[];
  /** The digest of each. */
  readonly #templates = new Map<string, string>();
  #pending: TemplateOperation | undefined;

  constructor(images: readonly FaultImage[], names: readonly string[]) {
    this.#images = images;
    this.#names = names;
  }

  /** Mostly imports. */
  choose(random: () => number): TemplateOperation {
    const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)] as T;
    const known = [...this.#templates.keys()];
    if (known.length > 0 && random() < 0.25) return { kind: "removeTemplate", name: pick(known) };
    if (random() < 0.25) return { kind: "pruneTemplates" };
    const [name, { path, digest, dockerfile }] = [pick(this.#names), pick(this.#images)];
    if (dockerfile !== undefined) return { kind: "buildTemplate", name, dockerfile, description: digest };
    return { kind: "importTemplate", name, image: path };
  }

  /** The templates that are there for certain. */
  get names(): readonly string[] {
    return [...this.#templates.keys()];
  }

  /** `isHit`: something that the operation needs was killed, and the process that asked for it was not. */
  settle(operation: TemplateOperation, outcome: Outcome, isHit: boolean): void {
    this.#pending = undefined;
    if (outcome !== "unknown" && "done" in outcome) return this.#apply(operation);
    ok(outcome === "unknown" || isHit, `${JSON.stringify(operation)}: ${JSON.stringify(outcome)}`);
    this.#pending = operation;
  }

  /** What a look has to ask for, to know that a template is whole. Any image may be the template's. */
  get start(): Readonly<Record<string, readonly string[]>> {
    return Object.fromEntries(this.#names.map((name) => [name, Object.keys(this.#images[0]?.texts ?? {})]));
  }

  check(seen: readonly SeenTemplate[]): void {
    const found = new Map(seen.map((one) => [one.name, one.digest]));
    if (this.#pending && this.#hasHappened(this.#pending, found)) this.#apply(this.#pending);
    this.#pending = undefined;
    deepEqual(found, this.#templates);
    for (const { name, digest, texts = [] } of seen) {
      const wanted = Object.values(this.#images.find((image) => image.digest === digest)?.texts ?? {});
      deepEqual(texts, wanted, `the template ${name} of ${digest}`);
    }
  }

  #hasHappened(pending: TemplateOperation, found: ReadonlyMap<string, string>): boolean {
    return pending.kind !== "pruneTemplates" && found.get(pending.name) === this.#wantedBy(pending);
  }

  #apply(operation: TemplateOperation): void {
    if (operation.kind === "pruneTemplates") return;
    const digest = this.#wantedBy(operation);
    if (digest === undefined) this.#templates.delete(operation.name);
    else this.#templates.set(operation.name, digest);
  }

  #wantedBy(operation: Exclude<TemplateOperation, { readonly kind: "pruneTemplates" }>): string | undefined {
    if (operation.kind === "buildTemplate") return operation.description;
    return operation.kind === "removeTemplate" ? undefined : this.#digestOf(operation.image);
  }

  #digestOf(path: string): string | undefined {
    return this.#images.find((image) => image.path === path)?.digest;
  }
}
