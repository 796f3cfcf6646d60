import { BelljarError } from "../../errors.ts";
import { createPortLink, isOpenLink } from "../../network/ports/port-link.ts";
import type { PortLink } from "../../network/ports/port-link.ts";
import type { SandboxRecord } from "../sandbox-record.ts";
import type { HomeNetworks } from "./home-networks.ts";

const LINKS_MAX = 1_000;

/**
 * The link that is there when its access is the same, with the new time if there is one, else a new link in its place. Several processes
 * that ask at once get one link.
 */
export async function registerLink(
  networks: HomeNetworks,
  record: SandboxRecord,
  wish: Pick<PortLink, "port" | "access" | "expiresAt">,
): Promise<PortLink> {
  const { port, access, expiresAt } = wish;
  const made = createPortLink({ sandbox: record.id, ...wish });
  const { links } = await networks.change(record, (state) => {
    const open = state.links.filter(isOpenLink);
    const present = open.find((link) => link.port === port && link.access === access);
    if (present && !expiresAt) return state;
    const others = open.filter((link) => link.port !== port);
    if (others.length >= LINKS_MAX)
      throw new BelljarError("QUOTA_EXCEEDED", `A sandbox has at most ${LINKS_MAX} port links: make another sandbox`);
    return { ...state, links: [...others, present ? { ...present, expiresAt } : made] };
  });
  return links.find((link) => link.port === port) ?? made;
}

/** Whether there was a link to the port. From now on there is none. */
export async function removeLink(networks: HomeNetworks, record: SandboxRecord, port: number): Promise<boolean> {
  let found = false;
  await networks.change(record, (state) => {
    found = state.links.some((link) => link.port === port && isOpenLink(link));
    const others = state.links.filter((link) => link.port !== port);
    return others.length === state.links.length ? state : { ...state, links: others };
  });
  return found;
}
