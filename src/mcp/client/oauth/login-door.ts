import { createHash, timingSafeEqual } from "node:crypto";

/** What the authorization server sent the person back with. */
export type LoginReturn =
  /** The query of the redirect. */
  | { readonly kind: "redirect"; readonly query: URLSearchParams }
  /** What a person copied out of it by hand. */
  | { readonly kind: "code"; readonly code: string };

/** The way of a person to an authorization server and back, for one login. */
export interface LoginDoor extends AsyncDisposable {
  /** Where the authorization server sends the person. */
  readonly redirectUrl: string;
  /** Shows the address to the person, and resolves when the person is back. Rejects with the signal's reason. */
  authorize(address: URL, signal: AbortSignal): Promise<LoginReturn>;
}

export interface DoorWish {
  readonly server: string;
  /** The redirect that the client was registered with. A door that cannot have it has another one, and the client is registered again. */
  readonly redirectUrl?: string | undefined;
  /** The port that the browser must come back to. */
  readonly port?: number | undefined;
}

export type OpenLoginDoor = (wish: DoorWish) => Promise<LoginDoor>;

/** Compares the states of a redirect and of its request without telling by its time where they differ. */
export function isSameState(one: string | null, other: string | null): boolean {
  if (one === null || other === null) return false;
  const digest = (text: string): Buffer => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(one), digest(other));
}
