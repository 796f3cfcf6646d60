import { usage } from "../usage.ts";
import { createAnthropicModel } from "./anthropic-model.ts";
import type { Model } from "./model.ts";
import { createOpenAiModel } from "./openai-model.ts";

type Env = Readonly<Record<string, string | undefined>>;

interface Dialect {
  readonly prefix: string;
  readonly baseUrl: string;
  readonly path: string;
  readonly headers: (key: string | undefined) => Readonly<Record<string, string>>;
  readonly create: typeof createOpenAiModel;
}

/** The dialects, under the variables that their vendors' own programs read: PREFIX_API_KEY, PREFIX_BASE_URL and PREFIX_MODEL. */
const DIALECTS = {
  openai: {
    prefix: "OPENAI",
    baseUrl: "https://api.openai.com/v1",
    path: "chat/completions",
    headers: (key) => ({ ...(key !== undefined && { authorization: `Bearer ${key}` }) }),
    create: createOpenAiModel,
  },
  anthropic: {
    prefix: "ANTHROPIC",
    baseUrl: "https://api.anthropic.com",
    path: "v1/messages",
    headers: (key) => ({ "anthropic-version": "2023-06-01", ...(key !== undefined && { "x-api-key": key }) }),
    create: createAnthropicModel,
  },
} as const satisfies Record<string, Dialect>;

type DialectName = keyof typeof DIALECTS;

const HELP = "belljar client chat --help";

export interface ChatWish {
  readonly model: string | undefined;
  readonly api: string | undefined;
}

/** The model of the options and of the environment. Throws `USAGE`, which says what is missing. */
export function openModel({ model, api }: ChatWish, env: Env): Model {
  const dialect: Dialect = DIALECTS[dialectOf(api, model, env)];
  const { prefix, create } = dialect;
  const name = model ?? (env[`${prefix}_MODEL`] || undefined);
  if (name === undefined) throw usage(`Name a model with --model, or in ${prefix}_MODEL`, HELP);
  const key = env[`${prefix}_API_KEY`] || undefined;
  const base = env[`${prefix}_BASE_URL`] || dialect.baseUrl;
  if (key === undefined && base === dialect.baseUrl)
    throw usage(`Set ${prefix}_API_KEY, or ${prefix}_BASE_URL for a model of your own`, HELP);
  return create({ url: urlOf(base, dialect), headers: dialect.headers(key), key, keyName: `${prefix}_API_KEY` }, name);
}

function dialectOf(api: string | undefined, model: string | undefined, env: Env): DialectName {
  if (api === "openai" || api === "anthropic") return api;
  if (api !== undefined) throw usage(`--api is openai or anthropic, not "${api}"`, HELP);
  const isSet = (name: DialectName): boolean => ["API_KEY", "BASE_URL"].some((field) => Boolean(env[`${DIALECTS[name].prefix}_${field}`]));
  if (isSet("openai") !== isSet("anthropic")) return isSet("openai") ? "openai" : "anthropic";
  if (!isSet("openai")) throw usage("Set OPENAI_API_KEY or ANTHROPIC_API_KEY, or one of their BASE_URL for a model of your own", HELP);
  return model?.startsWith("claude") ? "anthropic" : "openai";
}

function urlOf(base: string, { prefix, path }: Dialect): URL {
  const url = URL.canParse(base) ? new URL(base) : undefined;
  if (url?.protocol !== "https:" && url?.protocol !== "http:") throw usage(`${prefix}_BASE_URL is no address with http: or https:`, HELP);
  const folder = url.pathname.endsWith("/") ? url.pathname.slice(0, -1) : url.pathname;
  // Some write Anthropic's address with the version.
  url.pathname = folder.endsWith("/v1") && path.startsWith("v1/") ? `${folder}/${path.slice("v1/".length)}` : `${folder}/${path}`;
  return url;
}
