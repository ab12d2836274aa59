import { Type } from '@plinth/kit/http'
import { defineProblem, type Problem } from '@plinth/kit/problems'

export const pictureNotOffered = defineProblem(
  'PICTURE_NOT_OFFERED',
  400,
  'Pictures are not offered in this size. Choose a width and height of the list, or a preset.',
  { title: 'Picture not offered', members: { sizes: Type.Array(Type.Integer()) } },
)

export const noPicture = defineProblem(
  'NO_PICTURE',
  422,
  'This file is not a picture that can be drawn: it has another type, is damaged, or is too large.',
  { title: 'No picture' },
)

export const picturesBusy = defineProblem(
  'PICTURES_BUSY',
  503,
  'Too many pictures are being drawn. Try again in a moment.',
  { headers: { 'retry-after': '2' } },
)

export function tooLargeForAvif(sizes: number[]): Problem {
  const detail = 'AVIF is offered up to 2 megapixels. Choose a smaller size, or another format.'
  return pictureNotOffered({ detail, extra: { sizes } })
}
