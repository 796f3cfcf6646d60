import type { PortLink } from "../../sandbox/sandbox.ts";

/** Where a link leads on the server of this process, in both styles. */
export type PortUrls = (link: PortLink) => Promise<{ readonly url: string; readonly pathUrl: string }>;
