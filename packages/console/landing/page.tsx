import '../family/look/look.css'
import './landing.css'
import { render } from 'preact'
import { LandingPage } from './landing-page.tsx'

const root = document.getElementById('app')
if (root) render(<LandingPage />, root)
