import type { Inside } from "../../contract/run.ts";

/** What a namespace sandbox starts from. Nothing here assumes one layer, or that a layer is the host's. */
export interface Template {
  readonly name: string;
  /** Names the exact content: equal fingerprints, equal layers. */
  readonly fingerprint: string;
  /**
   * Read-only layers of `/`, topmost first, as overlayfs lists them. Their files belong to the canonical ids
   * (`canonicalUid` + the id inside), or to the caller when it has no canonical ids. The layers of `Base` lie above.
   */
  readonly rootLayers: readonly string[];
  /**
   * Read-only layers of `/usr`, topmost first. The last one is the host's own folder, under the host's ids; the others as `rootLayers`. Empty:
   * `/usr` is a folder of `/`.
   */
  readonly usrLayers: readonly string[];
  /** For every process inside. HOME, USER and the like come from the guest. */
  readonly env: Readonly<Record<string, string>>;
  /** Host folders shown as they are. Bound without an id map, so that what others may not read on the host stays unreadable inside. */
  readonly binds: readonly TemplateBind[];
  /** Who runs a command that names nobody. */
  readonly user: string;
  /** What its sandboxes show inside that have no workspace. */
  readonly folders: Pick<Inside, "home" | "workspace" | "cwd">;
  /**
   * Belljar's own programs, as a layer for `/opt/belljar` alone, under the ids of `rootLayers`. Set where the layers of `Base` may be a stranger's:
   * whatever they have in the place of a mount gives way, and commands start in `Inside.cwd`, whoever runs them. Absent: the programs lie in the root layers.
   */
  readonly programs?: string;
}

export interface TemplateBind {
  readonly from: string;
  /** An existing folder in the root layers. */
  readonly to: string;
  readonly readOnly: true;
}
