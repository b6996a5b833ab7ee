import type { Chat, Reply, Rule } from "../offline-model/rules.js";
import type { Movie, Person } from "./catalog.js";

/** The rules of a model that knows movies by its two tools only. */
export const rules: readonly Rule[] = [broken, result, search, ask];

const completed = (text: string): Reply => ({ text: `${text}\n\nCOMPLETED` });
const movies = (...queries: readonly string[]): Reply => ({
  calls: queries.map((query) => ({ name: "searchMovies", input: { query } })),
});
const people = (query: string): Reply => ({ calls: [{ name: "searchPeople", input: { query } }] });

const genres =
  /\b(science fiction|sci-?fi|action|drama|comedy|crime|romance|fantasy|horror|thriller|animation|adventure)\b/i;

/** Lets people see what happens when a model cannot be reached. */
function broken({ text }: Chat): Reply | undefined {
  return /crash the projector/i.test(text)
    ? { error: { status: 400, message: "The projector is broken." } }
    : undefined;
}

/** Chooses the tool and its query. An answer to a question is read together with the question before it. */
function search({ text, texts }: Chat): Reply | undefined {
  const first = /which (?:\w+ )?came out first,? (.+?) or (.+?)\?*$/i.exec(text);
  if (first?.[1] !== undefined && first[2] !== undefined) return movies(first[1], first[2]);
  const compared = /compare (.+?) (?:and|with|to) (.+?)[.?]*$/i.exec(text);
  if (compared?.[1] !== undefined && compared[2] !== undefined) return movies(compared[1], compared[2]);
  const starring =
    /(?:starring|movies (?:with|of|by)) ([^.?]+)/i.exec(text) ?? /movies has ([^.?]+?) been in/i.exec(text);
  if (starring?.[1] !== undefined) return people(starring[1]);
  const about = /(?:plot of|about|directed|made|when was|released?) ([A-Z][^.?]*)/.exec(text);
  if (about?.[1] !== undefined) return movies(about[1].replace(/ (released|come out)$/, ""));
  const genre = genres.exec(text)?.[1];
  const isWanted = texts.slice(-2).some((each) => /recommend|suggest|good movie|watch/i.test(each));
  return genre !== undefined && isWanted ? movies(genre.replace(/sci-?fi/i, "science fiction")) : undefined;
}

/** Asks for the genre, or for the movie or person. */
function ask({ text, system }: Chat): Reply {
  const goal = /Your goal in this task is: (.+)/.exec(system)?.[1];
  if (/recommend|suggest|good movie|watch/i.test(text)) {
    const reason = goal === undefined ? "" : ` It should help you to: ${goal}`;
    return { text: `Which genre do you like?${reason}\n\nAWAITING_USER_INPUT` };
  }
  return { text: "Which movie or person do you mean?\n\nAWAITING_USER_INPUT" };
}

/** Answers with what the tools have found. */
function result({ results, text }: Chat): Reply | undefined {
  if (results.length === 0) return undefined;
  if (results.some(({ name }) => name === "searchPeople"))
    return aboutPerson(results[0]?.output as unknown as Person[]);
  const found = results.map(({ output }) => (output as unknown as Movie[])[0]);
  const [one, other] = found;
  if (one === undefined) return completed("I do not know that movie.");
  if (results.length === 2) {
    if (other === undefined) return completed("I know only one of these movies.");
    const [earlier, later] = one.release_date <= other.release_date ? [one, other] : [other, one];
    return completed(`${titleOf(earlier)} came out before ${titleOf(later)}.`);
  }
  if (/direct|who made/i.test(text)) return directorOf(one);
  if (/when|release/i.test(text)) return completed(`${one.title} was released on ${one.release_date}.`);
  if (/plot|about/i.test(text)) return completed(`${titleOf(one)}: ${one.overview}`);
  return completed(`I recommend ${titleOf(one)}: ${one.overview}`);
}

/** Movies and directors that a language model knows without a search. */
const directors: readonly (readonly [string, string])[] = [
  ["The Matrix", "Lana and Lilly Wachowski"],
  ["Inception", "Christopher Nolan"],
  ["Alien", "Ridley Scott"],
  ["Jurassic Park", "Steven Spielberg"],
];

function directorOf({ title }: Movie): Reply {
  const director = directors.find(([known]) => title.startsWith(known))?.[1];
  if (director === undefined) return completed(`I do not know who directed ${title}.`);
  return completed(`${title} was directed by ${director}.`);
}

function aboutPerson([person]: readonly Person[]): Reply {
  if (person === undefined) return completed("I do not know that person.");
  return completed(`${person.name} is known for these movies: ${person.known_for.map(titleOf).join(", ")}.`);
}

const titleOf = ({ title, release_date }: Movie): string => `${title} (${release_date.slice(0, 4)})`;
