import { readFile } from "node:fs/promises";
import { BelljarError } from "../errors.ts";
import { fileError } from "../files/file-error.ts";
import type { ClientRecord } from "../network/egress/client-gate.ts";
import { createEgressClient, type EgressClientOptions } from "../network/egress/egress-client.ts";
import type { EgressState } from "../network/egress.ts";
import type { OciImage } from "./oci/oci-image.ts";
import type { Platform } from "./oci/platform.ts";
import { parseReference } from "./oci/registry/reference.ts";
import type { RegistryCredential } from "./oci/registry/registry-auth.ts";
import { openRegistryImage } from "./oci/registry/registry-image.ts";

/** What the configuration says of one registry. */
export interface RegistrySettings {
  /** The name of a secret of whoever asks, with `USER:PASSWORD`. */
  readonly secret?: string | undefined;
  /** It answers without TLS. */
  readonly insecure?: boolean | undefined;
  /** A file with certificates that it may show beside those that everybody trusts. */
  readonly ca?: string | undefined;
}

/** What requests to registries need of the home. */
export interface RegistryParts extends Pick<EgressClientOptions, "listeners" | "resolver" | "upstreamCa" | "limits"> {
  /** By their hosts, as people write them. */
  readonly registries: Readonly<Record<string, RegistrySettings>>;
  /** Undefined if the owner has no secret of that name. */
  readonly reveal: (owner: string, name: string) => Promise<string | undefined>;
  readonly record: (record: ClientRecord) => void;
}

export interface RegistryWish {
  /** As people write it, such as `alpine:3.20`. */
  readonly reference: string;
  readonly owner: string;
  /** Where the owner's requests may go. */
  readonly state: Pick<EgressState, "policy" | "inside">;
  readonly platform: Platform;
  /** Default: as the configuration says. */
  readonly credential?: RegistryCredential | undefined;
}

/** Opens an image in a registry. Its layers are read from there as they are opened, until it is disposed. */
export async function openRegistry(parts: RegistryParts, wish: RegistryWish, signal: AbortSignal): Promise<OciImage> {
  const { owner, state, platform } = wish;
  const reference = parseReference(wish.reference);
  const { secret, insecure = false, ca } = parts.registries[reference.registry] ?? {};
  const configured = async () => (secret === undefined ? undefined : findCredential(parts, owner, secret));
  const credential = wish.credential ?? (await configured());
  const upstreamCa = [...(parts.upstreamCa ?? []), ...(ca === undefined ? [] : [await readCertificates(ca)])];
  const egress = createEgressClient({ ...parts, ...(upstreamCa.length > 0 && { upstreamCa }), owner, state });
  try {
    const image = await openRegistryImage(reference, { egress, platform, insecure, ...(credential && { credential }) }, signal);
    return {
      ...image,
      async [Symbol.asyncDispose]() {
        await image[Symbol.asyncDispose]();
        egress[Symbol.dispose]();
      },
    };
  } catch (cause) {
    egress[Symbol.dispose]();
    throw cause;
  }
}

async function findCredential({ reveal }: RegistryParts, owner: string, name: string): Promise<RegistryCredential> {
  const value = await reveal(owner, name);
  if (value === undefined)
    throw new BelljarError(
      "SECRET_NOT_FOUND",
      `You have no secret "${name}", which the registry needs: set it with \`belljar secret set ${name}\``,
    );
  const colon = value.indexOf(":");
  if (colon > 0) return { user: value.slice(0, colon), password: value.slice(colon + 1) };
  throw new BelljarError("ARGUMENTS_INVALID", `The secret "${name}" of a registry must have the form USER:PASSWORD: set it again`);
}

async function readCertificates(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (cause) {
    throw fileError(path, cause);
  }
}
