import type { FetchLike } from "@modelcontextprotocol/client";
import { readChallenge } from "./login-place.ts";
import type { ServerLogin } from "./server-login.ts";

/**
 * A `fetch` that sends the token of a login, and sends a request again whose token was refused, at most once for each reason. A request that
 * was refused had no effect. Rejects as `ServerLogin.again` if only a person can go on.
 */
export function withLogin(fetchFn: FetchLike, login: ServerLogin): FetchLike {
  return async (address, init) => {
    if (!login.covers(new URL(address))) return fetchFn(address, init);
    let used = await login.token();
    let response = await fetchFn(address, withToken(init, used));
    const tried = new Set<number>();
    for (;;) {
      const challenge = readChallenge(response);
      const isRefused = response.status === 401 || challenge.wantsScope;
      if (!isRefused || tried.has(response.status)) return response;
      tried.add(response.status);
      await response.body?.cancel();
      used = await login.again(challenge, used);
      response = await fetchFn(address, withToken(init, used));
    }
  };
}

function withToken(init: RequestInit | undefined, token: string | undefined): RequestInit {
  const headers = new Headers(init?.headers);
  if (token !== undefined) headers.set("authorization", `Bearer ${token}`);
  return { ...init, headers };
}
