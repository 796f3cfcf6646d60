import type { IncomingHttpHeaders } from "node:http";
import { BelljarError } from "../../../errors.ts";
import type { EgressAnswer, EgressClient } from "../../../network/egress/egress-client.ts";
import { type BlobClaim, readAtMost } from "../digest.ts";
import { invalidImage, shown } from "../image-error.ts";
import type { ImageSource } from "../image-source.ts";
import { MANIFEST_MAX_BYTES } from "../manifest.ts";
import { INDEX_TYPES, MANIFEST_TYPES } from "../media-types.ts";
import { parseChallenge } from "./challenge.ts";
import { endpointOf, type Reference, writeReference } from "./reference.ts";
import { authorize, type RegistryCredential } from "./registry-auth.ts";

export interface RegistryOptions {
  /** Sends every request, under the caller's network policy. It trusts the registry's certificate. */
  readonly egress: EgressClient;
  readonly credential?: RegistryCredential;
  /** The registry answers without TLS. Only requests to its own host and port go without. */
  readonly insecure?: boolean;
}

export interface ManifestAnswer {
  readonly bytes: Buffer;
  readonly mediaType: string | undefined;
  /** The digest that the registry says. */
  readonly digest: string | undefined;
}

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
const REDIRECTS_MAX = 5;
const ACCEPT_MANIFESTS = [...INDEX_TYPES, ...MANIFEST_TYPES].join(", ");

/** One repository of a registry, by the distribution specification. */
export class RegistryClient implements ImageSource, AsyncDisposable {
  readonly name: string;
  readonly #reference: Reference;
  readonly #options: RegistryOptions;
  readonly #endpoint: URL;
  #authorization: string | undefined;

  constructor(reference: Reference, options: RegistryOptions) {
    this.name = writeReference(reference);
    this.#reference = reference;
    this.#options = options;
    this.#endpoint = endpointOf(reference.registry, options.insecure === true);
  }

  /** Nothing is open between requests. */
  async [Symbol.asyncDispose](): Promise<void> {}

  /** Gets a manifest by tag or digest. Its bytes are not checked. */
  async getManifest(name: string, signal: AbortSignal): Promise<ManifestAnswer> {
    using answer = await this.#get(`manifests/${name}`, ACCEPT_MANIFESTS, signal);
    const bytes = await readAtMost(answer.body, MANIFEST_MAX_BYTES, "the manifest");
    const digest = answer.headers["docker-content-digest"];
    const mediaType = answer.headers["content-type"]?.split(";", 1)[0]?.trim();
    return { bytes, mediaType, digest: typeof digest === "string" ? digest : undefined };
  }

  openManifest({ digest, size }: BlobClaim, signal: AbortSignal): AsyncIterable<Uint8Array> {
    return this.#open(`manifests/${digest}`, { accept: ACCEPT_MANIFESTS, size }, signal);
  }

  openBlob({ digest, size }: BlobClaim, signal: AbortSignal): AsyncIterable<Uint8Array> {
    return this.#open(`blobs/${digest}`, { accept: "*/*", size }, signal);
  }

  async *#open(
    path: string,
    { accept, size }: { readonly accept: string; readonly size: number },
    signal: AbortSignal,
  ): AsyncGenerator<Uint8Array> {
    using answer = await this.#get(path, accept, signal);
    const length = answer.headers["content-length"];
    if (length !== undefined && Number(length) !== size)
      throw invalidImage(`${this.#endpoint.host} sends ${shown(length)} bytes of a blob that should have ${size}`);
    yield* answer.body;
  }

  /** Only the registry itself is answered when it asks who calls. A token that is no longer taken is replaced once. */
  async #get(path: string, accept: string, signal: AbortSignal): Promise<EgressAnswer> {
    const url = new URL(`/v2/${this.#reference.repository}/${path}`, this.#endpoint);
    let answer = await this.#follow(url, accept, signal);
    if (answer.status === 401 && answer.isOwn) {
      answer[Symbol.dispose]();
      const { repository } = this.#reference;
      const { egress, credential } = this.#options;
      const request = { egress, endpoint: this.#endpoint, repository, credential };
      this.#authorization = await authorize(parseChallenge(answer.headers["www-authenticate"]), request, signal);
      answer = await this.#follow(url, accept, signal);
    }
    if (answer.status === 200) return answer;
    answer[Symbol.dispose]();
    throw this.#fail(answer.status, answer.headers);
  }

  async #follow(first: URL, accept: string, signal: AbortSignal): Promise<EgressAnswer & { readonly isOwn: boolean }> {
    let url = first;
    for (let hops = 0; hops <= REDIRECTS_MAX; hops += 1) {
      const isOwn = url.origin === this.#endpoint.origin;
      const headers = { accept, ...(isOwn && this.#authorization !== undefined && { authorization: this.#authorization }) };
      const answer = await this.#options.egress.get({ url, headers }, signal);
      if (!REDIRECTS.has(answer.status)) return { ...answer, isOwn };
      answer[Symbol.dispose]();
      url = this.#redirect(answer.headers.location ?? "", url);
    }
    throw new BelljarError("NETWORK_FAILED", `${this.#endpoint.host} redirects more than ${REDIRECTS_MAX} times`);
  }

  #redirect(location: string, from: URL): URL {
    const url = URL.canParse(location, from.href) ? new URL(location, from) : undefined;
    if (url && (url.protocol === "https:" || url.origin === this.#endpoint.origin)) return url;
    throw new BelljarError("NETWORK_DENIED", `${from.host} redirects to "${shown(location)}", which is no https URL`);
  }

  #fail(status: number, headers: IncomingHttpHeaders): BelljarError {
    const { host } = this.#endpoint;
    const user = this.#options.credential?.user;
    if (status === 404) return new BelljarError("IMAGE_NOT_FOUND", `${host} has no ${this.name}: check its name and its tag`);
    if (status === 401 || status === 403)
      return new BelljarError(
        "REGISTRY_DENIED",
        user === undefined
          ? `${host} shows ${this.name} to nobody without a password, or has no such image`
          : `${host} does not let ${shown(user)} read ${this.name}: check the name, the password and what the account may read`,
      );
    if (status !== 429) return new BelljarError("NETWORK_FAILED", `${host} answered with the status ${status}. Try again later`);
    const seconds = Number(headers["retry-after"]);
    const hint = user === undefined ? "Try again later, or with a user and a password, who may read more" : "Try again later";
    return new BelljarError(
      "NETWORK_FAILED",
      `${host} allows no more requests for now. ${hint}`,
      seconds > 0 ? { retryAfterMs: seconds * 1_000 } : {},
    );
  }
}
