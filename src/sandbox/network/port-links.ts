import { BelljarError } from "../../errors.ts";
import { createPortLink } from "../../network/ports/port-link.ts";
import type { PortLink } from "../../network/ports/port-link.ts";
import type { SandboxRecord } from "../sandbox-record.ts";
import type { HomeNetworks } from "./home-networks.ts";

const LINKS_MAX = 1_000;

/** The link that is there when its access is the same, else a new one in its place. Several processes that ask at once get one link. */
export async function registerLink(
  networks: HomeNetworks,
  record: SandboxRecord,
  { port, access }: Pick<PortLink, "port" | "access">,
): Promise<PortLink> {
  const made = createPortLink({ sandbox: record.id, port, access });
  const { links } = await networks.change(record, (state) => {
    if (state.links.some((link) => link.port === port && link.access === access)) return state;
    const others = state.links.filter((link) => link.port !== port);
    if (others.length >= LINKS_MAX)
      throw new BelljarError("QUOTA_EXCEEDED", `A sandbox has at most ${LINKS_MAX} port links: make another sandbox`);
    return { ...state, links: [...others, made] };
  });
  return links.find((link) => link.port === port) ?? made;
}
