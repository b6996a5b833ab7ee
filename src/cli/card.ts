import type { Command } from "commander";
import type { SignFlags, VerifyFlags } from "./card-commands.js";

const signHelp = `
The signed card goes to stdout. Signatures that the card has are replaced, unless --add keeps them. Keys are P-256 (ES256), RSA of
2,048 bits or more (RS256) or Ed25519 (EdDSA), as PKCS #8 in PEM or as private JWK:
  openssl genpkey -algorithm ed25519 -out card-key.pem && chmod 600 card-key.pem
`;

const verifyHelp = `
Only the keys that --key, --jwks and --jku name are trusted. Exit code 0: at least one signature is valid; 1: no signature is valid;
2: the card cannot be read. A URL without a path means the card at /.well-known/agent-card.json. A card or JWKS must not exceed
1 MiB, nor take longer than 10 seconds; redirects are not followed.
`;

const several = (value: string, before: readonly string[]): string[] => [...before, value];

/** Adds the commands that sign and verify cards to their group. Their dependencies are loaded on use. */
export function addCard(card: Command): void {
  card
    .command("sign")
    .description("sign the card in a file")
    .argument("<file>", "JSON of the card; - for stdin")
    .requiredOption("--key <file>", "private key; several add a signature each, as a rotation needs it", several, [])
    .option(
      "--kid <id>",
      "id of the key; of several keys in their order (default: its own, or its thumbprint)",
      several,
      [],
    )
    .option("--jku <url>", "URL of the JWKS with the public key")
    .option("--add", "keep the signatures that the card has", false)
    .option("--also-without-empty", "sign it without its empty values too, for readers that leave these out", false)
    .addHelpText("after", signHelp)
    .action(async (file: string, flags: SignFlags) => (await import("./card-commands.js")).signCommand(file, flags));
  card
    .command("verify")
    .description("verify the signatures of a card")
    .argument("<file or url>", "JSON of the card; - for stdin")
    .option("--key <file>", "public key that is trusted, as PEM or JWK; may be given again", several, [])
    .option("--jwks <file or url>", "JWKS that is trusted; may be given again", several, [])
    .option(
      "--jku <url>",
      "JWKS that is trusted, and fetched when a signature names it; may be given again",
      several,
      [],
    )
    .option("--accept-without-empty", "accept signatures over the card without its empty values", false)
    .addHelpText("after", verifyHelp)
    .action(async (from: string, flags: VerifyFlags) =>
      (await import("./card-commands.js")).verifyCommand(from, flags),
    );
}
