import { readFileSync } from "node:fs";

/** A movie in the answer of a search; the fields are those of TMDB. */
export interface Movie {
  readonly id: number;
  readonly title: string;
  readonly release_date: string;
  readonly overview: string;
  readonly vote_average: number;
  /** URL of the poster, or null. */
  readonly poster_path: string | null;
}

/** A person in the answer of a search. */
export interface Person {
  readonly name: string;
  readonly known_for_department: string;
  readonly known_for: readonly Movie[];
}

interface Entry extends Movie {
  readonly genres: readonly string[];
  readonly director: readonly string[];
  readonly cast: readonly string[];
}

/** Movies that the example ships. */
const movies = JSON.parse(readFileSync(new URL("movies.json", import.meta.url), "utf8")) as readonly Entry[];

/** Searches movies by title: TMDB if `TMDB_API_KEY` is set, otherwise the shipped movies, also by genre and names. */
export async function searchMovies(query: string, signal?: AbortSignal): Promise<readonly Movie[]> {
  const { TMDB_API_KEY: key } = process.env;
  if (key !== undefined) return (await fromTmdb<Movie>("movie", query, key, signal)).map(withPoster);
  const words = wordsOf(query);
  return movies
    .filter(({ title, genres, director, cast }) => {
      const known = wordsOf([title, ...genres, ...director, ...cast].join(" "));
      return words.length > 0 && words.every((word) => known.includes(word));
    })
    .map(withPoster);
}

/** Searches for actors and directors. */
export async function searchPeople(query: string, signal?: AbortSignal): Promise<readonly Person[]> {
  const { TMDB_API_KEY: key } = process.env;
  if (key !== undefined) {
    const people = await fromTmdb<Person>("person", query, key, signal);
    return people.map((person) => ({ ...person, known_for: person.known_for.map(withPoster) }));
  }
  const words = wordsOf(query);
  const names = [...new Set(movies.flatMap(({ director, cast }) => [...director, ...cast]))];
  return names
    .filter((name) => words.length > 0 && words.every((word) => wordsOf(name).includes(word)))
    .map((name) => {
      const known_for = movies.filter(({ director, cast }) => director.includes(name) || cast.includes(name));
      const isDirector = known_for.some(({ director }) => director.includes(name));
      return {
        name,
        known_for_department: isDirector ? "Directing" : "Acting",
        known_for: known_for.map(withPoster),
      };
    });
}

async function fromTmdb<T>(kind: string, query: string, key: string, signal?: AbortSignal): Promise<readonly T[]> {
  const parameters = new URLSearchParams({ query, include_adult: "false", language: "en-US", page: "1" });
  const response = await fetch(`https://api.themoviedb.org/3/search/${kind}?${parameters}`, {
    headers: { authorization: `Bearer ${key}` },
    ...(signal === undefined ? {} : { signal }),
  });
  if (!response.ok) throw new Error(`TMDB answered with ${response.status}.`);
  return ((await response.json()) as { readonly results: readonly T[] }).results;
}

/** Completes the path of a poster, which TMDB sends without a host. */
function withPoster<T extends Movie>(movie: T): T {
  const { poster_path } = movie;
  return { ...movie, poster_path: poster_path && `https://image.tmdb.org/t/p/w500${poster_path}` };
}

const wordsOf = (text: string): string[] => text.toLowerCase().match(/[\p{L}\d]+/gu) ?? [];
