/** The value of `Upgrade` that asks for one raw stream of the guest protocol. */
export const GUEST_PROTOCOL = "belljar-guest";
