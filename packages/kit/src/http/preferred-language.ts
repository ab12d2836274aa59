/** The best match for an `Accept-Language` header; undefined if it names none of these languages. */
export function preferredLanguage<L extends string>(
  header: string | undefined,
  languages: readonly L[],
): L | undefined {
  const wanted = (header ?? '').split(',', 20).map((part) => {
    const [tag = '', ...parameters] = part.trim().toLowerCase().split(';')
    const quality = parameters.find((parameter) => parameter.trim().startsWith('q='))
    const [name] = tag.split('-')
    return {
      language: languages.find((language) => language === name),
      q: quality ? Number(quality.split('=')[1]) : 1,
    }
  })
  const [best] = wanted
    .filter(({ language, q }) => q > 0 && language !== undefined)
    .sort((a, b) => b.q - a.q)
  return best?.language
}
