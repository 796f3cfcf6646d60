import { constants } from "node:fs";
import { access } from "node:fs/promises";
import { BelljarError } from "../../../errors.ts";
import { BARE_BASE, type Base, DEFAULT_BASE } from "../../contract/sandbox-spec.ts";
import type { NamespaceHost } from "../namespace-host.ts";
import { unavailable } from "../spawner.ts";
import { openBareTemplate } from "./bare-template.ts";
import { openBaseTemplate } from "./base-template.ts";
import type { TemplateOptions } from "./build-template.ts";
import type { Template } from "./template.ts";

/** Layers on disk belong to ids from here on, which nothing ever runs as. The jail knows the same number. */
const CANONICAL_UID = 1_000_000_000;

const OPENERS: ReadonlyMap<string, (options: TemplateOptions) => Promise<Template>> = new Map([
  [DEFAULT_BASE.template, openBaseTemplate],
  [BARE_BASE.template, openBareTemplate],
]);

/** The templates of one runtime, each opened with its first use. */
export class Templates {
  readonly #host: NamespaceHost;
  readonly #opened = new Map<string, Promise<Template>>();

  constructor(host: NamespaceHost) {
    this.#host = host;
  }

  /** Rejects with `TEMPLATE_NOT_FOUND`, `RUNTIME_UNAVAILABLE`, `DISK_FULL` and `RUNTIME_FAILED`. */
  async need({ template: name }: Base): Promise<Template> {
    const open = OPENERS.get(name);
    if (!open) throw new BelljarError("TEMPLATE_NOT_FOUND", `No template "${name}"; there is "${DEFAULT_BASE.template}"`);
    const opened = this.#opened.get(name) ?? this.#open(open);
    this.#opened.set(name, opened);
    try {
      return await opened;
    } catch (cause) {
      if (this.#opened.get(name) === opened) this.#opened.delete(name); // the next create tries again
      throw cause;
    }
  }

  async #open(open: (options: TemplateOptions) => Promise<Template>): Promise<Template> {
    const { home, kernels, binary, programs, onProgress } = this.#host.options;
    await access(binary, constants.X_OK).catch((cause: unknown) => Promise.reject(unavailable(cause)));
    return open({
      home,
      ...(this.#host.idMap.kind === "slot" && { canonicalUid: CANONICAL_UID }),
      ...(kernels !== undefined && { kernels }),
      programs: { ...programs, sudo: binary }, // the native binary has the role of sudo inside
      ...(onProgress && { onProgress }),
    });
  }
}
