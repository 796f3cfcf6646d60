import { BelljarError } from "../../../errors.ts";

/** Where a database is. What a URL leaves out comes from the PG* variables, as for `psql`. */
export type DatabasePlace =
  | { readonly url: string }
  | {
      readonly host: string;
      readonly port?: number | undefined;
      readonly name: string;
      readonly user?: string | undefined;
      readonly password?: string | undefined;
    };

/** The place without its user and its password. Throws `CONFIG_INVALID`, without the URL: it may hold a password. */
export function titleOf(place: DatabasePlace): string {
  if ("host" in place) return `${place.host}${place.port === undefined ? "" : `:${place.port}`}/${place.name}`;
  // The host may be absent, as in `postgres://USER@/NAME?host=/run/postgresql`.
  const url = [place.url, place.url.replace("@/", "@localhost/")].find((text) => URL.canParse(text));
  if (url === undefined || !/^postgres(ql)?:\/\//.test(url)) throw invalidUrl();
  const { username, password, host, pathname, search, searchParams, hash } = new URL(url);
  // An @ behind the host is in the end of a password with a character that ends the part before the host.
  if (pathname.length < 2 || `${pathname}${search}${hash}`.includes("@") || hash !== "") throw invalidUrl();
  const title = decode(`${searchParams.get("host") ?? host}${pathname}`);
  if (title === undefined || decode(username + password) === undefined) throw invalidUrl();
  return title;
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

function invalidUrl(): BelljarError {
  return new BelljarError(
    "CONFIG_INVALID",
    "DATABASE_URL must be postgres://USER:PASSWORD@HOST:PORT/NAME, with %40 for @, %2F for /, %3F for ? and %23 for # in the password. " +
      "To keep users' tools in files, take it away or set STORE_IN_FILE=true",
  );
}
