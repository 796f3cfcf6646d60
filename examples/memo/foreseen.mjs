/** What a person who starts the example can mend: its message is all that is shown. */
export class Foreseen extends Error {}
