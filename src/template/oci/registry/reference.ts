import { BelljarError } from "../../../errors.ts";
import { parseAuthority, toAuthority } from "../../../network/host-name.ts";
import { isDigest } from "../digest.ts";
import { shown } from "../image-error.ts";

/** The name of an image in a registry. */
export interface Reference {
  /** As people and the configuration call it: `docker.io`, `ghcr.io`, `127.0.0.1:5000`. */
  readonly registry: string;
  readonly repository: string;
  readonly tag: string;
  /** If given, it decides, and the tag is only for people. */
  readonly digest?: string;
}

const DEFAULT_REGISTRY = "docker.io";
/** Docker Hub's own name has no registry behind it. */
const ENDPOINTS: Readonly<Record<string, string>> = { "docker.io": "registry-1.docker.io", "index.docker.io": "registry-1.docker.io" };
const REPOSITORY_MAX = 255;
const COMPONENT = /^[a-z0-9]+(?:(?:\.|__?|-+)[a-z0-9]+)*$/;
const TAG = /^\w[\w.-]{0,127}$/;

/** Parses `[HOST[:PORT]/]NAME[:TAG][@DIGEST]`. Throws `ARGUMENTS_INVALID`. */
export function parseReference(text: string): Reference {
  const [named = "", digest, ...more] = text.split("@");
  const slash = named.indexOf("/");
  const first = slash < 0 ? "" : named.slice(0, slash);
  const hasHost = /[.:[]/.test(first) || first === "localhost";
  const rest = hasHost ? named.slice(slash + 1) : named;
  const colon = rest.indexOf(":");
  const path = colon < 0 ? rest : rest.slice(0, colon);
  const registry = hasHost ? toRegistry(first) : DEFAULT_REGISTRY;
  const repository = registry === DEFAULT_REGISTRY && !path.includes("/") ? `library/${path}` : path;
  const tag = colon < 0 ? "latest" : rest.slice(colon + 1);
  const isNamed = repository.length <= REPOSITORY_MAX && repository.split("/").every((part) => COMPONENT.test(part));
  if (registry === undefined || !isNamed || !TAG.test(tag) || more.length > 0 || (digest !== undefined && !isDigest(digest)))
    throw new BelljarError(
      "ARGUMENTS_INVALID",
      `"${shown(text)}" names no image: write [HOST[:PORT]/]NAME[:TAG][@sha256:...], in lower case`,
    );
  return { registry, repository, tag, ...(digest !== undefined && { digest }) };
}

export function writeReference({ registry, repository, tag, digest }: Reference): string {
  return digest === undefined ? `${registry}/${repository}:${tag}` : `${registry}/${repository}@${digest}`;
}

/** Where the registry answers. `insecure`: without TLS. */
export function endpointOf(registry: string, insecure: boolean): URL {
  return new URL(`${insecure ? "http" : "https"}://${ENDPOINTS[registry] ?? registry}/`);
}

/** The canonical spelling, by which a credential is found. */
function toRegistry(text: string): string | undefined {
  const known = parseAuthority(text, 443);
  if (!known) return undefined;
  const authority = toAuthority(known.host, known.port);
  return /:\d+$/.test(text) ? authority : authority.replace(/:443$/, "");
}
